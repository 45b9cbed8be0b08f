//! A model beside its engine: while nobody has to know how far it is, it works on a thread of its own.
//!
//! It comes to the same: an account is told the same things in the same order.

mod batch;
mod thread;

use crate::account::Account;
use crate::prepared::Prepared;
use crate::step::{BlockStep, Predicted, Step};
use thread::Borrower;

/// Instructions for which nobody must want to know anything before the account is lent.
const WORTHWHILE: u64 = 1 << 15;
/// Blocks in a row without a question after which it is lent: at first, and at least and at most, as it turns out
/// how many come before the next question.
const HESITATION: u64 = 256;
const LEAST_HESITATION: u64 = 64;
const MOST_HESITATION: u64 = 1 << 14;
/// Blocks that make up for what it takes to lend it and to get it back.
const GAINFUL: u64 = 2048;

/// An account that is told of blocks, and asked now and then.
#[derive(Debug)]
pub(crate) struct Lender {
    /// `None` while it is lent.
    account: Option<Box<Account>>,
    /// `None` if it is never lent.
    thread: Option<Borrower>,
    /// Instructions for which nobody is going to ask.
    quiet: u64,
    /// Blocks since the last question, or since the account was lent.
    blocks: u64,
    hesitation: u64,
}

impl Lender {
    pub(crate) fn new(account: Account) -> Self {
        Self { account: Some(Box::new(account)), thread: None, quiet: 0, blocks: 0, hesitation: HESITATION }
    }

    /// It may be lent to a thread, if there can be one.
    pub(crate) fn start_thread(&mut self) {
        self.thread = Borrower::start().ok();
    }

    /// The account, which knows of everything that it has been told. Waits for it.
    #[inline]
    pub(crate) fn get(&mut self) -> &mut Account {
        if self.account.is_none() {
            let hesitation = if self.blocks < GAINFUL { self.hesitation * 2 } else { self.hesitation / 2 };
            self.hesitation = hesitation.clamp(LEAST_HESITATION, MOST_HESITATION);
        }
        self.blocks = 0;
        let thread = &mut self.thread;
        self.account.get_or_insert_with(|| match thread {
            Some(thread) => thread.give_back(),
            None => unreachable!("it was lent to a thread"),
        })
    }

    /// Nobody is going to ask anything until so many instructions have been told of.
    #[inline]
    pub(crate) fn expect_quiet(&mut self, instructions: u64) {
        self.quiet = instructions;
    }

    #[inline]
    pub(crate) fn retire(&mut self, prepared: &Prepared, step: &Predicted<Step<'_>>) {
        // It may clear memory, and be as much work as many blocks.
        self.count(1 + step.memory.len() as u64, 1);
        match (&mut self.account, &mut self.thread) {
            (Some(account), _) => account.retire(prepared, step),
            (None, Some(thread)) => thread.tell_alone(prepared, step),
            (None, None) => {}
        }
    }

    /// The number of instructions.
    #[inline]
    pub(crate) fn retire_blocks<'a>(
        &mut self,
        blocks: impl Iterator<Item = Predicted<BlockStep<'a>>>,
    ) -> u64 {
        let (mut count, mut instructions) = (0, 0);
        let mut add = |block: &BlockStep<'_>| {
            count += 1;
            instructions += block.instructions.len() as u64;
        };
        match (&mut self.account, &mut self.thread) {
            (Some(account), _) => blocks.for_each(|block| {
                add(&block);
                account.retire_block(&block);
            }),
            (None, Some(thread)) => {
                blocks.for_each(|block| {
                    add(&block);
                    thread.tell(&block);
                });
                thread.send_if_full();
            }
            (None, None) => {}
        }
        self.count(count, instructions);
        instructions
    }

    /// Counts blocks that have been told of. Lends the account, if there is a thread and it looks as if nobody were going
    /// to ask for some time.
    #[inline]
    fn count(&mut self, blocks: u64, instructions: u64) {
        self.blocks += blocks;
        self.quiet = self.quiet.saturating_sub(instructions);
        if self.blocks >= self.hesitation
            && self.quiet >= WORTHWHILE
            && let Some(thread) = &mut self.thread
            && let Some(account) = self.account.take()
        {
            thread.lend(account);
            self.blocks = 0;
        }
    }
}
