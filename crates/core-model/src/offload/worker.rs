//! The thread that a machine is handed to.

use super::batch::Batch;
use crate::instruction::{Definition, Predicted};
use crate::machine::Machine;
use retire::BlockId;
use std::io;
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::thread::{self, JoinHandle};

/// Batches there are, and how many come back together, so that a sender without one is not woken for each.
const BATCHES: usize = 32;
const TOGETHER: usize = BATCHES / 2;

/// Looks for an order before the thread goes to sleep: some 50 us.
const LOOKS: usize = 2048;

/// For the thread.
enum Order {
    Take(Box<Machine>),
    Retire(Batch),
    GiveBack,
}

/// From the thread: empty batches, and the machine if it was to give it back.
type Reply = (Vec<Batch>, Option<Box<Machine>>);

/// The thread, as its owner has it.
#[derive(Debug)]
pub(super) struct Worker {
    /// `None` when it is to end.
    orders: Option<Sender<Order>>,
    replies: Receiver<Reply>,
    handle: Option<JoinHandle<()>>,
    /// What is being filled.
    batch: Batch,
    empty: Vec<Batch>,
}

impl Worker {
    /// # Errors
    /// The host has no more threads.
    pub(super) fn start() -> io::Result<Self> {
        let (orders, inbox) = mpsc::channel();
        let (outbox, replies) = mpsc::channel();
        let handle =
            thread::Builder::new().name("core-model".to_owned()).spawn(move || work(&inbox, &outbox))?;
        Ok(Self {
            orders: Some(orders),
            replies,
            handle: Some(handle),
            batch: Batch::default(),
            empty: std::iter::repeat_with(Batch::default).take(BATCHES - 1).collect(),
        })
    }

    pub(super) fn hand_over(&mut self, machine: Box<Machine>) {
        self.order(Order::Take(machine));
    }

    pub(super) fn define(&mut self, id: BlockId, definition: Definition) {
        self.batch.define(id, definition);
    }

    #[inline(always)]
    pub(super) fn retire(&mut self, block: &Predicted<'_>) {
        self.batch.push(block);
        if self.batch.is_full() {
            self.send();
        }
    }

    /// The machine, with everything that has retired.
    pub(super) fn take_back(&mut self) -> Box<Machine> {
        if !self.batch.is_empty() {
            self.send();
        }
        self.order(Order::GiveBack);
        loop {
            if let Some(machine) = self.reply() {
                return machine;
            }
        }
    }

    /// Sends off the batch.
    #[inline(never)]
    fn send(&mut self) {
        let next = loop {
            match self.empty.pop() {
                Some(batch) => break batch,
                None => drop(self.reply()),
            }
        };
        let full = std::mem::replace(&mut self.batch, next);
        self.order(Order::Retire(full));
    }

    fn order(&mut self, order: Order) {
        if self.orders.as_ref().is_none_or(|orders| orders.send(order).is_err()) {
            self.fail();
        }
    }

    /// Waits for a reply; the machine, if it has come.
    fn reply(&mut self) -> Option<Box<Machine>> {
        let Ok((batches, machine)) = self.replies.recv() else { self.fail() };
        self.empty.extend(batches);
        machine
    }

    /// The thread has ended too early: goes on with its panic.
    #[cold]
    fn fail(&mut self) -> ! {
        match self.handle.take().map(JoinHandle::join) {
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            _ => unreachable!("the thread lives as long as its owner"),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(handle) = self.handle.take() {
            // A panic of the thread has been passed on where its results were wanted.
            let _ = handle.join();
        }
    }
}

/// Waits for an order, for a while without sleeping: to be woken takes the sender's time.
fn next(inbox: &Receiver<Order>) -> Option<Order> {
    for _ in 0..LOOKS {
        match inbox.try_recv() {
            Ok(order) => return Some(order),
            Err(TryRecvError::Disconnected) => return None,
            Err(TryRecvError::Empty) => std::hint::spin_loop(),
        }
    }
    inbox.recv().ok()
}

/// What the thread does.
fn work(inbox: &Receiver<Order>, outbox: &Sender<Reply>) {
    let mut machine = None;
    let mut empty = Vec::new();
    while let Some(order) = next(inbox) {
        match order {
            Order::Take(taken) => machine = Some(taken),
            Order::Retire(mut batch) => {
                if let Some(machine) = &mut machine {
                    batch.retire(machine);
                }
                empty.push(batch);
                if empty.len() >= TOGETHER && outbox.send((std::mem::take(&mut empty), None)).is_err() {
                    return;
                }
            }
            Order::GiveBack => {
                if outbox.send((std::mem::take(&mut empty), machine.take())).is_err() {
                    return;
                }
            }
        }
    }
}
