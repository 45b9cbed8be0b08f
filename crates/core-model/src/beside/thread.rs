//! The thread that an account is lent to.

use super::batch::{Batch, Known, PLACES, Place};
use crate::account::Account;
use crate::prepared::Prepared;
use crate::step::{BlockId, BlockStep, Predicted, Step};
use std::io;
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::thread::{self, JoinHandle};

/// Batches there are, and how many come back together, so that whoever waits for one is not woken for each.
const BATCHES: usize = 32;
const TOGETHER: usize = BATCHES / 2;

/// Looks for an order before the thread goes to sleep: some 50 us.
const LOOKS: usize = 2048;

/// For the thread.
enum Order {
    Take(Box<Account>),
    Book(Batch),
    GiveBack,
}

/// From the thread: empty batches, and the account if it was to give it back.
type Reply = (Vec<Batch>, Option<Box<Account>>);

/// The thread, as its owner has it.
#[derive(Debug)]
pub(super) struct Borrower {
    /// `None` when it is to end.
    orders: Option<Sender<Order>>,
    replies: Receiver<Reply>,
    handle: Option<JoinHandle<()>>,
    /// What is being filled.
    batch: Batch,
    empty: Vec<Batch>,
    /// The blocks that the thread knows, by place.
    known: Box<[Option<BlockId>]>,
}

impl Borrower {
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
            known: vec![None; PLACES].into_boxed_slice(),
        })
    }

    pub(super) fn lend(&mut self, account: Box<Account>) {
        self.order(Order::Take(account));
    }

    /// Tells the account of a block, some time after [`send_if_full`](Self::send_if_full).
    #[inline(always)]
    pub(super) fn tell(&mut self, block: &Predicted<BlockStep<'_>>) {
        let place = self.place(block);
        self.batch.push(block, place);
    }

    /// Tells it of a single instruction.
    pub(super) fn tell_alone(&mut self, prepared: &Prepared, step: &Predicted<Step<'_>>) {
        self.batch.push_alone(prepared, step);
        self.send_if_full();
    }

    pub(super) fn send_if_full(&mut self) {
        if self.batch.is_full() {
            self.send();
        }
    }

    /// The account, after everything that it has been told.
    pub(super) fn give_back(&mut self) -> Box<Account> {
        if !self.batch.is_empty() {
            self.send();
        }
        self.order(Order::GiveBack);
        loop {
            if let Some(account) = self.reply() {
                return account;
            }
        }
    }

    /// Where the thread has or gets a block.
    #[inline(always)]
    fn place(&mut self, block: &BlockStep<'_>) -> Place {
        let Some(id) = block.id else { return Place::Once };
        let place = id.number() as usize % PLACES;
        if self.known[place] == Some(id) {
            return Place::Known(place as u16);
        }
        self.known[place] = Some(id);
        Place::New(place as u16)
    }

    /// Sends off the batch.
    fn send(&mut self) {
        let next = loop {
            match self.empty.pop() {
                Some(batch) => break batch,
                None => drop(self.reply()),
            }
        };
        let full = std::mem::replace(&mut self.batch, next);
        self.order(Order::Book(full));
    }

    fn order(&mut self, order: Order) {
        if self.orders.as_ref().is_none_or(|orders| orders.send(order).is_err()) {
            self.fail();
        }
    }

    /// Waits for a reply; the account, if it has come.
    fn reply(&mut self) -> Option<Box<Account>> {
        let Ok((batches, account)) = self.replies.recv() else { self.fail() };
        self.empty.extend(batches);
        account
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

impl Drop for Borrower {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(handle) = self.handle.take() {
            // Who waited for it has had its panic.
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
    let mut account = None;
    let mut known = Known::new();
    let mut empty = Vec::new();
    while let Some(order) = next(inbox) {
        match order {
            Order::Take(lent) => account = Some(lent),
            Order::Book(mut batch) => {
                if let Some(account) = &mut account {
                    batch.tell(account, &mut known);
                }
                empty.push(batch);
                if empty.len() >= TOGETHER && outbox.send((std::mem::take(&mut empty), None)).is_err() {
                    return;
                }
            }
            Order::GiveBack => {
                if outbox.send((std::mem::take(&mut empty), account.take())).is_err() {
                    return;
                }
            }
        }
    }
}
