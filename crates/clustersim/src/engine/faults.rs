//! Hosts that go down, links that are cut, and what happens when they are back.

use super::{Engine, Happening, LinkState};
use crate::profile::Fault;

impl Engine<'_> {
    pub(super) fn fault(&mut self, fault: usize, starts: bool) {
        match &self.profile.fault[fault] {
            Fault::HostDown { host, .. } => {
                let host = *host as usize;
                let links: Vec<u32> = self.hosts[host].producers.iter().chain(&self.hosts[host].followers).copied().collect();
                if starts {
                    self.fill_mempool(host, self.now_ns);
                    let state = &mut self.hosts[host];
                    state.downs += 1;
                    state.life += 1;
                    state.has = state.connected.clone();
                    state.orphans.clear();
                    state.free_ns = 0;
                    state.deciding = false;
                } else {
                    self.hosts[host].downs -= 1;
                    self.mempools.restart(&mut self.hosts[host].mempool, self.now_ns);
                }
                for link in links {
                    self.cut(link, starts);
                }
            }
            Fault::LinkCut { between: (a, b), .. } => {
                let between =
                    |link: &LinkState| (link.producer == *a && link.follower == *b) || (link.producer == *b && link.follower == *a);
                let links: Vec<u32> = (0..self.links.len()).filter(|n| between(&self.links[*n])).map(|n| n as u32).collect();
                for link in links {
                    self.cut(link, starts);
                }
            }
            Fault::Partition { hosts, .. } => {
                let across = |link: &LinkState| hosts.contains(&link.producer) != hosts.contains(&link.follower);
                let links: Vec<u32> = (0..self.links.len()).filter(|n| across(&self.links[*n])).map(|n| n as u32).collect();
                for link in links {
                    self.cut(link, starts);
                }
            }
            Fault::HostSlow { .. } | Fault::ClockSkew { .. } => {}
        }
    }

    /// Takes a link away for one more reason, or gives one reason back.
    fn cut(&mut self, link: u32, starts: bool) {
        let cold = self.tcp.cold();
        let state = &mut self.links[link as usize];
        if starts {
            state.cuts += 1;
            state.connected = false;
            state.life += 1;
            state.fetching.clear();
            state.window = cold;
            let follower = state.follower as usize;
            if self.hosts[follower].downs == 0 {
                self.reconsider(follower);
            }
        } else {
            state.cuts -= 1;
            if state.cuts == 0 {
                let life = state.life;
                self.at(self.now_ns + self.profile.network.reconnect.0, Happening::Connect { link, life });
            }
        }
    }

    /// A connection is made anew: chain-sync finds the intersection and goes on from there.
    pub(super) fn connect(&mut self, link: u32, life: u32) {
        let state = &self.links[link as usize];
        if state.cuts > 0 || state.life != life {
            return;
        }
        let (own, theirs) = (self.hosts[state.producer as usize].tip, self.hosts[state.follower as usize].tip);
        let shared = self.common(own, theirs);
        let state = &mut self.links[link as usize];
        state.connected = true;
        state.announced = shared;
        state.candidate = shared;
        state.header_ns = 0;
        state.body_ns = 0;
        state.stream_free_ns = 0;
        self.send_headers(link, own);
    }
}
