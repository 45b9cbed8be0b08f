//! Every block compiled when it is come to first, for the memory of a machine here.
#![expect(unsafe_code, reason = "compiled code accesses the memory of a machine")]

use soft_cpu::compiled::Compiler;

/// A compiler for a CPU whose RAM are these bytes, from position 0 on; `None` where the host cannot execute what it
/// makes. The bytes have to stay where they are, and to live, as long as the CPU runs.
pub(crate) fn compiler(ram: &mut Vec<u8>) -> Option<Box<dyn Compiler>> {
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    {
        // SAFETY: who calls this keeps the vector beside the CPU and never lets it grow, and lends it to the CPU's bus
        // only, which has no reference into it while code runs.
        let ram = unsafe { soft_compile::Ram::new(ram.as_mut_ptr(), ram.len() as u64) };
        soft_compile::BlockCompiler::new(ram, 0).ok().map(|compiler| Box::new(compiler) as Box<dyn Compiler>)
    }
    #[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
    {
        let _ = ram;
        None
    }
}
