//! The server's side of chain-sync: a client's place on the chain, and the requests that it waits for.

/// The block behind a place and the place behind that; None at the end.
pub type After<S> = Result<Option<(<S as Source>::Block, <S as Source>::Place)>, <S as Source>::Error>;

/// A chain that clients can be served from, whatever it is kept in.
pub trait Source {
    /// A place between two blocks of the chain.
    type Place: Copy;
    /// The block behind a place, in the form in which it is sent.
    type Block;
    /// The reason why a block that is there can't be read.
    type Error;

    /// Returns the block behind a place and the place behind that; None at the end.
    ///
    /// # Errors
    /// The block can't be read.
    fn after(&self, place: Self::Place) -> After<Self>;
}

/// An answer to a request for what is next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply<B, P> {
    /// The next block.
    Forward(B),
    /// Back to this place.
    Back(P),
    /// Nothing yet: the answer comes later.
    Wait,
}

/// A client that follows a chain.
#[derive(Debug, Clone, Copy)]
pub struct Follower<P> {
    at: P,
    /// True where it must be sent back to `at` first.
    goes_back: bool,
    /// Requests that aren't answered.
    requests: u32,
    /// True where it was sent the message to wait.
    waits: bool,
}

impl<P: Copy> Follower<P> {
    /// A client that has asked for nothing, at the beginning of a chain or at an intersection. Its first answer sends it there.
    pub fn new(at: P) -> Self {
        Self { at, goes_back: true, requests: 0, waits: false }
    }

    /// Returns the place behind the last block that it was sent.
    #[inline]
    pub fn at(&self) -> P {
        self.at
    }

    /// Returns whether it waits for the chain to change.
    #[inline]
    pub fn waits(&self) -> bool {
        self.waits
    }

    /// Notes a request for what is next.
    #[inline]
    pub fn request(&mut self) {
        self.requests = self.requests.saturating_add(1);
    }

    /// Notes that the blocks behind `to`, some of which it was sent, have left the chain.
    pub fn send_back(&mut self, to: P) {
        (self.at, self.goes_back) = (to, true);
    }

    /// Returns the next answer that is due; None where nothing is asked for, or it waits and nothing is new.
    ///
    /// # Errors
    /// The block can't be read. Nothing is noted then.
    #[inline]
    pub fn reply<S: Source<Place = P>>(&mut self, source: &S) -> Result<Option<Reply<S::Block, P>>, S::Error> {
        if self.requests == 0 {
            return Ok(None);
        }
        let reply = if self.goes_back {
            Reply::Back(self.at)
        } else if let Some((block, behind)) = source.after(self.at)? {
            self.at = behind;
            Reply::Forward(block)
        } else if self.waits {
            return Ok(None);
        } else {
            self.waits = true;
            return Ok(Some(Reply::Wait));
        };
        (self.goes_back, self.waits) = (false, false);
        self.requests -= 1;
        Ok(Some(reply))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many blocks, of which one can't be read.
    struct Blocks(usize, Option<usize>);

    impl Source for Blocks {
        type Place = usize;
        type Block = usize;
        type Error = ();

        fn after(&self, place: usize) -> Result<Option<(usize, usize)>, ()> {
            if self.1 == Some(place) { Err(()) } else { Ok((place < self.0).then_some((place, place + 1))) }
        }
    }

    #[test]
    fn each_request_has_one_answer_and_one_message_to_wait_at_most() {
        let mut follower = Follower::new(0);
        let replies =
            |follower: &mut Follower<usize>, blocks: Blocks| std::iter::from_fn(|| follower.reply(&blocks).unwrap()).collect::<Vec<_>>();
        assert_eq!(replies(&mut follower, Blocks(2, None)), []);
        (0..5).for_each(|_| follower.request());
        assert_eq!(replies(&mut follower, Blocks(2, None)), [Reply::Back(0), Reply::Forward(0), Reply::Forward(1), Reply::Wait]);
        assert!(follower.waits() && follower.at() == 2);
        assert_eq!(replies(&mut follower, Blocks(2, None)), []);
        follower.request();
        assert_eq!(replies(&mut follower, Blocks(2, None)), []);
        // Two of the three requests are answered, and the third waits anew.
        assert_eq!(replies(&mut follower, Blocks(4, None)), [Reply::Forward(2), Reply::Forward(3), Reply::Wait]);
        follower.send_back(1);
        assert_eq!(replies(&mut follower, Blocks(4, None)), [Reply::Back(1)]);
        assert!(!follower.waits());
    }

    #[test]
    fn a_block_that_can_not_be_read_is_asked_for_again() {
        let mut follower = Follower::new(0);
        (0..2).for_each(|_| follower.request());
        assert_eq!(follower.reply(&Blocks(1, Some(0))), Ok(Some(Reply::Back(0))));
        assert_eq!(follower.reply(&Blocks(1, Some(0))), Err(()));
        assert_eq!(follower.reply(&Blocks(1, None)), Ok(Some(Reply::Forward(0))));
    }
}
