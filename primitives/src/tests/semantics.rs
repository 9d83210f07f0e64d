//! What the text says of its mechanisms.

use crate::channels::{Channel, Port};
use crate::programs::claims;
use crate::sys::mqueue;
use crate::wire::Pattern;

#[test]
fn a_posix_queue_gives_the_oldest_of_the_highest_priority() {
    let queue = mqueue::unnamed(4, 8).expect("a small queue");
    for (text, priority) in [("low", 1), ("high a", 5), ("high b", 5)] {
        mqueue::send(&queue, text.as_bytes(), priority).expect("there is room");
    }
    let mut order = Vec::new();
    for _ in 0..3 {
        let mut buffer = [0; 8];
        let (length, priority) = mqueue::receive(&queue, &mut buffer).expect("three were sent");
        order.push((
            String::from_utf8_lossy(&buffer[..length]).into_owned(),
            priority,
        ));
    }
    assert_eq!(
        order,
        [
            ("high a".to_owned(), 5),
            ("high b".to_owned(), 5),
            ("low".to_owned(), 1)
        ]
    );
}

/// Sends 3 and 5 bytes, then receives with room for 8: the length of what comes first.
fn first_of_two<C: Channel>(channel: &C) -> usize {
    let pattern = Pattern::OneWay {
        bytes: 8,
        body: crate::wire::Body::Stamp,
    };
    let made = channel.make(pattern).expect("it is made");
    let [near, far] = <[_; 2]>::try_from(made.given).expect("two ends");
    let mut near = channel
        .open(crate::wire::End::Near, pattern, near)
        .expect("it opens");
    let mut far = channel
        .open(crate::wire::End::Far, pattern, far)
        .expect("it opens");
    near.send(b"one").expect("there is room");
    near.send(b"three").expect("there is room");
    far.recv(&mut [0; 8]).expect("something came")
}

#[test]
fn queues_and_packets_keep_the_boundaries_of_messages_and_streams_do_not() {
    use crate::channels::{fifo, pipe, posix_mq, streams, sysv_mq, udp, unix};
    let packets = [
        first_of_two(&unix::SEQPACKET),
        first_of_two(&unix::DATAGRAM),
        first_of_two(&udp::Udp),
    ];
    assert_eq!(packets, [3, 3, 3]);
    assert_eq!(
        [
            first_of_two(&posix_mq::PosixQueue),
            first_of_two(&sysv_mq::SysvQueue)
        ],
        [3, 3]
    );
    assert_eq!(
        [first_of_two(&unix::STREAM), first_of_two(&streams::Tcp)],
        [8, 8]
    );
    assert_eq!(
        [first_of_two(&pipe::Pipe), first_of_two(&fifo::Fifo)],
        [8, 8]
    );
}

#[test]
fn the_claims_about_system_are_tried() {
    let claims = claims::try_all().expect("there is a shell");
    let holds = |about: &str| {
        claims
            .iter()
            .find(|claim| claim.said.contains(about))
            .map(|claim| claim.holds)
    };
    assert_eq!(holds("SIGCHLD"), Some(true), "{claims:?}");
    assert_eq!(holds("metacharacter"), Some(true), "{claims:?}");
    assert!(holds("bash").is_some() && holds("two processes").is_some());
}
