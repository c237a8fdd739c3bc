use super::*;

#[test]
fn a_stale_key_finds_nobody() {
    let mut slots = Slots::new(1);
    let first = slots.insert('a').unwrap();
    assert_eq!(slots.remove(first), Some('a'));
    let second = slots.insert('b').unwrap();
    assert_eq!(first.index(), second.index());
    assert_eq!(slots.get(first), None);
    assert_eq!(slots.remove(first), None);
    assert_eq!(slots.get(second), Some(&'b'));
}

#[test]
fn what_does_not_fit_is_given_back() {
    let mut slots = Slots::new(2);
    assert!(slots.insert(1).is_ok());
    assert!(slots.insert(2).is_ok());
    assert!(slots.is_full());
    assert_eq!(slots.insert(3), Err(3));
    assert_eq!(slots.len(), 2);
}

#[test]
fn indexes_are_dense() {
    let mut slots = Slots::new(3);
    let keys: Vec<usize> = (0..3).map(|v| slots.insert(v).unwrap().index()).collect();
    assert_eq!(keys, [0, 1, 2]);
    let seen: Vec<i32> = slots.iter().map(|(_, v)| *v).collect();
    assert_eq!(seen, [0, 1, 2]);
    assert_eq!(
        slots.key_at(1).and_then(|key| slots.get(key)).copied(),
        Some(1)
    );
}

#[test]
fn a_set_may_grow_where_that_is_asked_for() {
    let mut slots = Slots::new(0);
    let first = slots.insert_growing('a');
    let second = slots.insert_growing('b');
    assert_eq!(slots.remove(first), Some('a'));
    let third = slots.insert_growing('c');
    assert_eq!(third.index(), first.index());
    assert_eq!(slots.get(second), Some(&'b'));
    assert_eq!(slots.capacity(), 2);
}
