//! Answers to a client's messages, and how they are written.

use super::*;

impl Connection<'_> {
    pub(super) fn handshake(&mut self, proposal: &Proposal) -> Result<(), End> {
        let terms = Terms::of(self.side, self.magic);
        let (answer, mut message) = (terms.answer(proposal), Vec::new());
        answer.encode(&mut message, &terms, proposal);
        self.reply(handshake::NUMBER, &message)?;
        self.flush()?;
        match answer {
            Answer::Accept(stated) => self.version = Some(stated.version),
            Answer::Refuse(why) => return Err(End::Refused(why)),
            Answer::Versions(_) => return Err(End::Queried),
        }
        self.arrivals.expect_message(self.now);
        Ok(())
    }

    pub(super) fn chain_sync(&mut self, protocol: u16, request: chain_sync::Request) -> Result<(), End> {
        self.asking.request(&request).map_err(|what| End::Malformed { protocol, what: what.into() })?;
        match request {
            chain_sync::Request::RequestNext => {
                self.follower.request();
                self.answer()
            }
            chain_sync::Request::FindIntersect(points) => {
                let seen = self.growth.map_or(0, |growth| growth.lowest_after(0).0);
                let found = points.iter().find_map(|point| match point {
                    Point::Origin => Some((*point, 0)),
                    Point::Block { .. } => {
                        self.chain.chain().find(point).filter(|index| *index < self.blocks()).map(|index| (*point, index + 1))
                    }
                });
                let reply = match found {
                    Some((point, next)) => {
                        (self.follower, self.seen) = (Follower::new(next), seen);
                        chain_sync::Reply::IntersectFound(point)
                    }
                    None => chain_sync::Reply::IntersectNotFound,
                };
                self.asking.intersected(self.now);
                self.chain_sync_reply(&reply)
            }
            chain_sync::Request::Done if self.side == Side::Client => {
                self.flush()?;
                Err(End::Done)
            }
            chain_sync::Request::Done => {
                (self.follower, self.seen) = (Follower::new(0), 0);
                Ok(()) // block-fetch may go on
            }
        }
    }

    /// Returns the number of blocks that the chain has now.
    pub(super) fn blocks(&self) -> usize {
        self.growth.map_or(self.chain.chain().len(), Growth::blocks)
    }

    /// Takes note of roll-backwards since the last answer.
    pub(super) fn roll_back(&mut self) {
        if let Some((seen, Some(left))) = self.growth.map(|growth| growth.lowest_after(self.seen)) {
            self.seen = seen;
            if left < self.follower.at() {
                self.follower.send_back(left);
            }
        }
    }

    /// Answers all requests of chain-sync that can be answered now.
    pub(super) fn answer(&mut self) -> Result<(), End> {
        loop {
            self.roll_back();
            let Ok(reply) = self.follower.reply(&Served(self.blocks()));
            match reply {
                None => return Ok(()),
                // The server's turn, for ever on a chain that doesn't grow.
                Some(Reply::Wait) => return self.chain_sync_reply(&chain_sync::Reply::AwaitReply),
                Some(Reply::Back(place)) => {
                    self.asking.answered(self.now);
                    let to = place.checked_sub(1).map_or(Point::Origin, |before| self.chain.chain().point(before));
                    self.chain_sync_reply(&chain_sync::Reply::RollBackward(to))?;
                }
                Some(Reply::Forward(index)) => {
                    self.asking.answered(self.now);
                    let framing = if self.side == Side::Client { Framing::Blocks } else { Framing::Headers };
                    self.replies += 1;
                    self.send_framed(framing, index)?;
                }
            }
        }
    }

    pub(super) fn block_fetch(&mut self, from: &Point, to: &Point) -> Result<(), End> {
        let chain = self.chain.chain();
        // A header that was announced may be asked for after it was rolled back.
        let blocks = self.growth.map_or(self.chain.chain().len(), Growth::most);
        let there = |point: &Point| chain.find(point).filter(|index| *index < blocks);
        let (Some(first), Some(last)) = (there(from), there(to)) else {
            return self.send(block_fetch::Message::NoBlocks);
        };
        if first > last {
            return self.send(block_fetch::Message::NoBlocks);
        }
        self.send(block_fetch::Message::StartBatch)?;
        for index in first..=last {
            self.replies += 1;
            self.send_framed(Framing::Bodies, index)?;
        }
        self.send(block_fetch::Message::BatchDone)
    }

    /// Sends the framed message of a block, together with those before it that are still to be sent, where they adjoin.
    fn send_framed(&mut self, framing: Framing, index: usize) -> Result<(), End> {
        self.delay()?;
        if self.growth.is_some() && framing != Framing::Bodies {
            self.flush_pending()?;
            let tip = self.tip()?;
            self.chain.frame_block(framing, index, &tip, &mut self.out)?;
            return Ok(());
        }
        if let Some((framed, blocks)) = &mut self.pending {
            if blocks.end == index && framed.framing() == framing && framed.blocks().contains(&index) {
                blocks.end += 1;
                return if self.manner.delay.is_zero() { Ok(()) } else { self.flush() };
            }
            self.flush()?;
        }
        let framed = match &self.framed {
            Some(framed) if framed.blocks().contains(&index) && framed.framing() == framing => Arc::clone(framed),
            _ => self.chain.at(framing, index)?,
        };
        self.framed = Some(Arc::clone(&framed));
        self.flush_small()?;
        self.pending = Some((framed, index..index + 1));
        if self.manner.delay.is_zero() { Ok(()) } else { self.flush() }
    }

    fn chain_sync_reply(&mut self, reply: &chain_sync::Reply) -> Result<(), End> {
        let protocol = if self.side == Side::Client { chain_sync::WITH_CLIENTS } else { chain_sync::BETWEEN_NODES };
        let mut message = Vec::new();
        reply.encode(&mut message, &self.tip()?);
        self.reply(protocol, &message)
    }

    pub(super) fn send(&mut self, message: impl Into<Message>) -> Result<(), End> {
        let (message, mut bytes) = (message.into(), Vec::new());
        message.encode(&mut bytes);
        self.reply(message.number(self.side), &bytes)
    }

    fn tip(&self) -> Result<Tip, End> {
        match self.growth {
            None => Ok(*self.chain.tip()),
            Some(growth) => Ok(self.chain.chain().tip_at(growth.blocks() - 1)?),
        }
    }

    pub(super) fn reply(&mut self, protocol: u16, message: &[u8]) -> Result<(), End> {
        self.flush_pending()?;
        frame(&mut self.out, protocol, true, &[message]);
        Ok(())
    }

    pub(super) fn delay(&mut self) -> Result<(), End> {
        if !self.manner.delay.is_zero() {
            self.flush()?;
            let until = Instant::now() + self.manner.delay;
            while Instant::now() < until {
                std::hint::spin_loop();
            }
        }
        Ok(())
    }

    pub(super) fn flush(&mut self) -> Result<(), End> {
        // At most one of the two holds anything: each is flushed before the other is begun.
        self.flush_small()?;
        self.flush_pending()
    }

    pub(super) fn flush_small(&mut self) -> Result<(), End> {
        if !self.out.is_empty() {
            let out = std::mem::take(&mut self.out);
            self.write(&out)?;
        }
        Ok(())
    }

    pub(super) fn flush_pending(&mut self) -> Result<(), End> {
        if let Some((framed, blocks)) = self.pending.take() {
            self.write(framed.messages(blocks))?;
        }
        Ok(())
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), End> {
        self.bytes += bytes.len() as u64;
        self.stream
            .write_all(bytes)
            .map_err(|error| if is_timeout(&error) { End::Unread(self.manner.limits.write) } else { End::Lost(error.kind()) })
    }
}
