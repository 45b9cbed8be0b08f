//! Events that are always on the PMU together and are read at one moment.

use crate::counter::scale;
use crate::error::HostPerfError;
use crate::event::Event;
use crate::host::{HostPmu, READ_GROUP};
use crate::kernel::{Ioctl, PerfFd};
use crate::spec::EventSpec;
use crate::user_page::UserPage;

/// Words before the first value: number of events, time enabled, time running.
const HEADER: usize = 3;

/// An open group: a leader and its siblings. Starts disabled.
#[derive(Debug)]
pub struct Group {
    leader: EventSpec,
    owner: i32,
    /// In the order of opening, leader first.
    members: Vec<Member>,
    words: Vec<u64>,
}

#[derive(Debug)]
struct Member {
    event: Event,
    id: u64,
    fd: Box<dyn PerfFd>,
}

/// The counts of a group, all from the same moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupReading {
    /// Events while on the PMU; leader first, then the siblings as they were given.
    pub values: Vec<u64>,
    /// Nanoseconds during which the group was enabled and its thread ran.
    pub enabled: u64,
    /// Nanoseconds of these on the PMU.
    pub running: u64,
}

impl GroupReading {
    /// Whether the group had to share its counters.
    pub fn is_multiplexed(&self) -> bool {
        self.running < self.enabled
    }

    /// The counts extrapolated to the whole enabled time; `None` when nothing was counted.
    pub fn scaled(&self) -> Option<Vec<u64>> {
        self.values.iter().map(|&value| scale(value, self.enabled, self.running)).collect()
    }
}

impl Group {
    /// Opens `leader` and then `siblings`.
    ///
    /// # Errors
    /// [`HostPerfError::BadGroup`] and [`HostPerfError::NeedsSlotsLeader`] for groups that the kernel would
    /// refuse with a bare EINVAL; else as [`Counter::open`](crate::Counter::open).
    pub fn open(host: &HostPmu, leader: EventSpec, siblings: &[EventSpec]) -> Result<Self, HostPerfError> {
        check(&leader, siblings)?;
        let mut members: Vec<Member> = Vec::with_capacity(1 + siblings.len());
        for spec in std::iter::once(&leader).chain(siblings) {
            let fd = host.open(spec, members.first().map(|leader| leader.fd.raw_fd()), READ_GROUP)?;
            let id = fd.ioctl(Ioctl::Id).map_err(|e| HostPerfError::on_event("ioctl ID", spec.event, e))?;
            members.push(Member { event: spec.event, id, fd });
        }
        let words = vec![0; HEADER + 2 * members.len()];
        Ok(Group { leader, owner: host.current_tid(), members, words })
    }

    /// The events, leader first.
    pub fn events(&self) -> impl Iterator<Item = Event> + '_ {
        self.members.iter().map(|member| member.event)
    }

    /// Starts all events. Also brings an evicted pinned group back.
    ///
    /// # Errors
    /// [`HostPerfError::Os`].
    pub fn enable(&mut self) -> Result<(), HostPerfError> {
        self.ioctl("ioctl ENABLE", Ioctl::Enable { group: true })
    }

    /// Stops all events; the counts stay.
    ///
    /// # Errors
    /// [`HostPerfError::Os`].
    pub fn disable(&mut self) -> Result<(), HostPerfError> {
        self.ioctl("ioctl DISABLE", Ioctl::Disable { group: true })
    }

    /// Zeroes all counts, not the times: so do this before the first [`enable`](Self::enable), or take
    /// differences of readings instead.
    ///
    /// # Errors
    /// [`HostPerfError::Os`].
    pub fn reset(&mut self) -> Result<(), HostPerfError> {
        self.ioctl("ioctl RESET", Ioctl::Reset { group: true })
    }

    /// Reads all counts with one system call.
    ///
    /// # Errors
    /// [`HostPerfError::PinnedEvicted`] when a pinned group could not get its counters.
    pub fn read(&mut self) -> Result<GroupReading, HostPerfError> {
        let event = self.leader.event;
        let Some(leader) = self.members.first() else {
            return Err(HostPerfError::BadRead { event, what: "the group is empty" });
        };
        let length =
            leader.fd.read(&mut self.words).map_err(|e| HostPerfError::on_event("read", event, e))?;
        if length == 0 {
            return Err(HostPerfError::PinnedEvicted { event });
        }
        let bad = |what| HostPerfError::BadRead { event, what };
        let words = self.words.get(..length).ok_or(bad("longer than the buffer"))?;
        let [nr, enabled, running, values @ ..] = words else { return Err(bad("no header")) };
        if *nr != self.members.len() as u64 || values.len() != 2 * self.members.len() {
            return Err(bad("not one value for each event of the group"));
        }
        // By id, not by position: the order is the kernel's.
        let value_of =
            |member: &Member| values.chunks_exact(2).find(|pair| pair[1] == member.id).map(|pair| pair[0]);
        let values =
            self.members.iter().map(value_of).collect::<Option<_>>().ok_or(bad("an event is missing"))?;
        Ok(GroupReading { values, enabled: *enabled, running: *running })
    }

    /// Maps the page of the `index`-th event.
    pub(crate) fn user_page(&self, host: &HostPmu, index: usize) -> Result<UserPage, HostPerfError> {
        let event = self.leader.event;
        let member =
            self.members.get(index).ok_or(HostPerfError::BadRead { event, what: "no such member" })?;
        UserPage::map(host, &*member.fd, member.event, self.leader.target, self.owner)
    }

    fn ioctl(&self, call: &'static str, operation: Ioctl) -> Result<(), HostPerfError> {
        let Some(leader) = self.members.first() else { return Ok(()) };
        leader.fd.ioctl(operation).map(|_| ()).map_err(|e| HostPerfError::on_event(call, leader.event, e))
    }
}

/// The kernel's rules for groups, so that a refusal can name the broken one.
fn check(leader: &EventSpec, siblings: &[EventSpec]) -> Result<(), HostPerfError> {
    let metric = |spec: &&EventSpec| matches!(spec.event, Event::Topdown(_));
    let refuse = |spec: &EventSpec, rule| Err(HostPerfError::BadGroup { event: spec.event, rule });
    let orphan = if leader.event == Event::Slots { None } else { siblings.iter().find(metric) };
    if let Some(spec) = Some(leader).filter(metric).or(orphan) {
        return Err(HostPerfError::NeedsSlotsLeader { event: spec.event });
    }
    if leader.period != 0 && siblings.iter().any(|spec| metric(&spec)) {
        return refuse(leader, "the leader of topdown metrics cannot have a period");
    }
    for spec in siblings {
        if spec.pinned {
            return refuse(spec, "only the leader can be pinned");
        }
        if spec.target != leader.target {
            return refuse(spec, "all events of a group count the same thread");
        }
        if metric(&spec) && spec.period != 0 {
            return refuse(spec, "topdown metrics cannot have a period");
        }
        if spec.event == Event::Slots && leader.event == Event::Slots {
            return refuse(spec, "there is only one slots counter");
        }
    }
    Ok(())
}
