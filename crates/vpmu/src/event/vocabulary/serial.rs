//! Events are serialised by name. Derived code would spell out all names again in each crate that reads one.

use super::Event;
use core::fmt;
use serde::de::{Deserializer, Error, Unexpected, Visitor};
use serde::{Deserialize, Serialize, Serializer};

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Name)
    }
}

/// An event's own name; the others are for people.
struct Name;

impl Visitor<'_> for Name {
    type Value = Event;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of an event")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Event, E> {
        let event = Event::ALL.into_iter().find(|event| event.name() == name);
        event.ok_or_else(|| E::invalid_value(Unexpected::Str(name), &self))
    }
}

#[cfg(test)]
mod tests {
    use crate::event::Event;
    use alloc::string::ToString as _;

    #[test]
    fn events_go_by_their_own_names() {
        for event in Event::ALL {
            let text = serde_json::to_string(&event).unwrap();
            assert_eq!(text, serde_json::to_string(event.name()).unwrap());
            assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event);
        }
        let error = serde_json::from_str::<Event>("\"cycles\"").unwrap_err().to_string();
        assert!(error.contains("\"cycles\", expected the name of an event"), "{error}");
    }
}
