//! A stub for GDB's remote protocol (`target remote`), for engines that a [`Debugger`] can stop.
//!
//! | file | what it is |
//! | --- | --- |
//! | `mod.rs` | the address on which the stub listens |
//! | `session.rs` | one connection: when the guest stands still, and what GDB is told |
//! | `target.rs` | what GDB asks of the guest |
//! | `cpu/` | the registers of each architecture's CPU as GDB numbers them |
//!
//! Breakpoints are the engine's: nothing is written to the guest's memory, no debug register is taken from it, and
//! no count or trace changes.

mod cpu;
mod session;
mod target;
#[cfg(test)]
mod tests;

pub use cpu::Cpu;
pub use cpu::arm::GuestA64;
pub use cpu::x86::Guest64;

use crate::engine::Debugger;
use crate::machine::stop::StopRequest;
use session::Session;
use std::io;
use std::net::{SocketAddr, TcpListener};

/// Where QEMU's `-s` listens, on this host only.
pub const DEFAULT_ADDRESS: &str = "127.0.0.1:1234";

/// The stub cannot be offered.
#[derive(Debug, thiserror::Error)]
pub enum GdbError {
    /// Not an address.
    #[error("{0:?} is no address for GDB: it takes HOST:PORT, :PORT or PORT")]
    Address(String),
    /// The address cannot be used.
    #[error("cannot listen for GDB on {address}")]
    Listen {
        /// The address.
        address: String,
        /// What went wrong.
        source: io::Error,
    },
}

/// A stub that waits for GDB to connect.
#[derive(Debug)]
pub struct GdbServer {
    listener: TcpListener,
    address: SocketAddr,
    freeze: bool,
}

impl GdbServer {
    /// Listens on `address`: `HOST:PORT`, `:PORT` or `PORT`, also behind QEMU's `tcp:`; without a host on this one
    /// only. Port 0 is any that is free. With `freeze` the guest does not start before GDB says so.
    ///
    /// # Errors
    /// The text is no address, or the host does not let us listen there.
    pub fn listen(address: &str, freeze: bool) -> Result<Self, GdbError> {
        let text = address.strip_prefix("tcp:").unwrap_or(address);
        let (host, port) = text.rsplit_once(':').unwrap_or(("", text));
        let port: u16 = port.parse().map_err(|_| GdbError::Address(address.to_owned()))?;
        let host = match host.trim_start_matches('[').trim_end_matches(']') {
            "" => "127.0.0.1",
            host => host,
        };
        let failed = |source| GdbError::Listen { address: text.to_owned(), source };
        let listener = TcpListener::bind((host, port)).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, address, freeze })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The stub as what the engine of such a CPU asks. It gives up waiting for GDB when `stop` asks for the end of the
    /// run.
    #[must_use]
    pub fn into_debugger<C: Cpu>(self, stop: StopRequest) -> Box<dyn Debugger<C::State>> {
        Box::new(Session::<C>::new(self.listener, self.freeze, stop))
    }
}
