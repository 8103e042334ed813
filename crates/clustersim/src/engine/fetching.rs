//! Blocks on their way: headers announced to followers, and the block-fetch logic that requests bodies and gets them.

use super::{Engine, Happening};
use crate::draws::{Purpose, threshold};
use crate::event::Event;
use crate::stages::slowed;

/// After the rising edge of a header sent, its falling edge.
const SEND_NS: u64 = 35_000;
/// Between the headers of one catch-up.
const HEADER_SPACING_NS: u64 = 50_000;

impl Engine<'_> {
    pub(super) fn announce(&mut self, host: usize, block: u32) {
        let tip = self.hosts[host].tip;
        if block != tip && self.block(block).parent != tip {
            return;
        }
        for n in 0..self.hosts[host].followers.len() {
            let link = self.hosts[host].followers[n];
            if self.links[link as usize].connected {
                self.send_headers(link, block);
            }
        }
    }

    /// Sends a follower the headers from the block that was announced to it last to `block`.
    pub(super) fn send_headers(&mut self, link: u32, block: u32) {
        let (producer, follower, announced, latency_ns, life) = {
            let state = &self.links[link as usize];
            (state.producer as usize, state.follower, state.announced, state.latency_ns, state.life)
        };
        if announced == block {
            return;
        }
        let shared = self.common(announced, block);
        let tip = self.hosts[producer].tip;
        if shared != announced {
            self.record(producer, self.now_ns, Event::RollingBack { peer: follower, to: shared, tip });
        }
        let mut path = Vec::new();
        let mut at = block;
        while at != shared {
            path.push(at);
            at = self.block(at).parent;
        }
        self.links[link as usize].announced = block;
        for (n, header) in path.into_iter().rev().enumerate() {
            let sent_ns = self.now_ns + n as u64 * HEADER_SPACING_NS;
            self.record(producer, sent_ns, Event::SendingHeader { peer: follower, block: header, tip });
            self.record(producer, sent_ns + SEND_NS, Event::HeaderSent { peer: follower, block: header, tip });
            self.observe(producer, header, sent_ns, |seen| &mut seen.announced_ns);
            let key = u64::from(link) << 32 | u64::from(header);
            let jitter = self.stages.jitter.at(self.draws.bits(Purpose::HeaderJitter, key, 0));
            let notice = self.stage_now(|stages| &stages.header_notice, Purpose::HeaderNotice, follower as usize, key);
            let state = &mut self.links[link as usize];
            let arrives = (sent_ns + latency_ns + jitter + notice).max(state.header_ns);
            state.header_ns = arrives;
            self.at(arrives, Happening::Header { link, life, block: header });
        }
    }

    pub(super) fn header(&mut self, link: u32, block: u32) {
        let (producer, follower) = {
            let state = &mut self.links[link as usize];
            state.candidate = block;
            (state.producer, state.follower as usize)
        };
        self.record(follower, self.now_ns, Event::DownloadedHeader { peer: producer, block });
        self.observe(follower, block, self.now_ns, |seen| &mut seen.noticed_ns);
        self.reconsider(follower);
    }

    /// The block-fetch logic is to look again: at once, or when its interval is over.
    pub(super) fn reconsider(&mut self, host: usize) {
        let state = &mut self.hosts[host];
        if state.deciding || state.downs > 0 {
            return;
        }
        state.deciding = true;
        state.decisions += 1;
        let (key, life, earliest) = (state.decisions, state.life, state.decision_ns);
        let decided = self.now_ns + self.stage_now(|stages| &stages.notice_to_fetch, Purpose::NoticeToFetch, host, key);
        self.at(decided.max(earliest), Happening::Decide { host: host as u32, life });
    }

    /// One iteration of the block-fetch logic: peers are taken in the order of their distance.
    pub(super) fn decide(&mut self, host: usize) {
        self.hosts[host].deciding = false;
        self.hosts[host].decision_ns = self.now_ns + self.profile.peer.decision_interval.0;
        for n in 0..self.hosts[host].producers.len() {
            self.request(self.hosts[host].producers[n]);
        }
    }

    /// Returns whether a link is free and its producer's chain is better than the follower's and not all there.
    fn wants(&self, link: u32) -> bool {
        let state = &self.links[link as usize];
        let host = &self.hosts[state.follower as usize];
        state.connected && state.fetching.is_empty() && !host.has.has(state.candidate) && self.preferred(state.candidate, host.tip)
    }

    /// Asks a link's producer for what is missing and not asked of enough others.
    fn request(&mut self, link: u32) {
        if !self.wants(link) {
            return;
        }
        let (producer, follower, latency_ns, life, candidate) = {
            let state = &self.links[link as usize];
            (state.producer, state.follower as usize, state.latency_ns, state.life, state.candidate)
        };
        let mut missing = Vec::new();
        let mut at = candidate;
        while !self.hosts[follower].has.has(at) {
            missing.push(at);
            at = self.block(at).parent;
        }
        missing.reverse();
        let in_flight = |block: u32| {
            let links = self.hosts[follower].producers.iter();
            links.filter(|other| self.links[**other as usize].fetching.contains(&block)).count() as u32
        };
        let free = |block: &u32| in_flight(*block) < self.profile.peer.concurrency;
        let range: Vec<u32> =
            missing.iter().copied().skip_while(|block| !free(block)).take_while(free).take(self.profile.peer.max_range as usize).collect();
        let Some(head) = range.last().copied() else {
            return;
        };
        let length = range.len() as u32;
        self.links[link as usize].fetching = range;
        self.record(follower, self.now_ns, Event::SendFetchRequest { peer: producer, head, length });
        if self.observe(follower, head, self.now_ns, |seen| &mut seen.requested_ns) || length > 1 {
            let seen = self.observation(follower, head);
            seen.range = seen.range.max(length);
        }
        let key = u64::from(link) << 32 | u64::from(head);
        let jitter = self.stages.jitter.at(self.draws.bits(Purpose::RequestJitter, key, 0));
        let serve = self.stage_now(|stages| &stages.serve, Purpose::Serve, producer as usize, key);
        self.at(self.now_ns + latency_ns + jitter + serve, Happening::Serve { link, life });
    }

    pub(super) fn serve(&mut self, link: u32) {
        let state = &self.links[link as usize];
        let (producer, follower, latency_ns, life) = (state.producer as usize, state.follower, state.latency_ns, state.life);
        let blocks = state.fetching.clone();
        let sizes: Vec<u64> = blocks.iter().map(|block| self.block(*block).size_bytes).collect();
        let starts = self.now_ns.max(state.stream_free_ns);
        let key = u64::from(link) << 32 | u64::from(blocks.last().copied().unwrap_or_default());
        let warm = self.draws.bits(Purpose::Warmth, key, 0) < self.warm;
        let (draws, loss) = (self.draws, self.profile.network.loss);
        let mut window = state.window;
        let times = self.tcp.send(&mut window, starts, latency_ns, &sizes, warm, |round, segments| {
            let any = 1.0 - libm::pow(1.0 - loss, segments);
            draws.bits(Purpose::Loss, key, round) < threshold(any)
        });
        let state = &mut self.links[link as usize];
        state.window = window;
        for ((block, size), (first_ns, arrival_ns)) in blocks.iter().zip(&sizes).zip(times) {
            self.record(producer, first_ns, Event::SendBlock { peer: follower, block: *block });
            self.observe(producer, *block, first_ns, |seen| &mut seen.sending_ns);
            let key = u64::from(link) << 32 | u64::from(*block);
            let drawn = self.stage_now(|stages| &stages.receive, Purpose::Receive, follower as usize, key);
            let (fixed, by_size) =
                (self.profile.peer.receive.mean.0 as f64, self.profile.peer.receive_per_kb.0 as f64 * *size as f64 / 1e3);
            let receive = if fixed > 0.0 { slowed(drawn, 1.0 + by_size / fixed) } else { by_size as u64 };
            let jitter = self.stages.jitter.at(self.draws.bits(Purpose::BodyJitter, key, 0));
            let state = &mut self.links[link as usize];
            let there = (arrival_ns + jitter + receive).max(state.body_ns);
            state.body_ns = there;
            state.stream_free_ns = first_ns;
            self.at(there, Happening::Body { link, life, block: *block });
        }
    }

    pub(super) fn body(&mut self, link: u32, block: u32) {
        let (producer, follower) = {
            let state = &mut self.links[link as usize];
            state.fetching.retain(|other| *other != block);
            (state.producer, state.follower as usize)
        };
        self.record(follower, self.now_ns, Event::CompletedBlockFetch { peer: producer, block });
        self.observe(follower, block, self.now_ns, |seen| &mut seen.fetched_ns);
        if !self.hosts[follower].has.has(block) {
            self.hosts[follower].has.add(block);
            let starts = self.now_ns.max(self.hosts[follower].free_ns);
            let mut takes = self.stage_now(|stages| &stages.adopt, Purpose::Adopt, follower, u64::from(block));
            if self.first_of_epoch(self.block(block).slot, self.block(block).parent) {
                takes += self.profile.forging.epoch_boundary.0;
            }
            self.hosts[follower].free_ns = starts + takes;
            let life = self.hosts[follower].life;
            self.at(starts, Happening::Process { host: follower as u32, life, block });
        }
        self.reconsider(follower);
    }
}
