//! An x86-64 system interpreter.
