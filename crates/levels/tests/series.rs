//! A planted step is shown where it is, and what is settled stays settled.

use slotmark_levels::{Candidate, FIRST, Series, Spread};

/// Distances of runs from their level, of a standard deviation of about 1, that repeat.
fn noise(place: usize) -> f64 {
    [0.3, -1.2, 0.8, 1.5, -0.4, -0.9, 0.1, 1.1, -1.6, 0.5, -0.2][place * 7 % 11]
}

fn added(series: &mut Series, places: impl IntoIterator<Item = usize>, level: impl Fn(usize) -> f64) -> Vec<Option<Candidate>> {
    places.into_iter().map(|place| series.add(place, level(place), 0.0, false)).collect()
}

#[test]
fn a_step_is_shown_where_it_is_by_its_size() {
    let mut series = Series::new(3, None);
    let shown = added(&mut series, 0..26, |place| noise(place) + if place >= 20 { 6.0 } else { 0.0 });
    assert!(shown[..FIRST].iter().all(Option::is_none));
    let last = shown[25].as_ref().expect("six runs of the new level");
    assert_eq!((last.first, last.after), (20, 6));
    assert!((last.size - 6.0).abs() < 1.0 && last.t > 6.0 && last.placed > 0.9, "{last:?}");
    assert!(shown[FIRST..20].iter().flatten().all(|one| one.t < 4.0));
}

#[test]
fn runs_that_become_known_late_make_no_difference() {
    let level = |place| noise(place) + if place >= 20 { 6.0 } else { 0.0 };
    let (mut in_order, mut late) = (Series::new(3, None), Series::new(3, None));
    let expected = added(&mut in_order, 0..26, level).pop();
    let order = (0..26).filter(|place| *place != 7 && *place != 25).chain([7, 25]);
    assert_eq!(added(&mut late, order, level).pop(), expected);
}

#[test]
fn what_comes_before_a_settled_change_shows_nothing() {
    let mut series = Series::new(3, None);
    added(&mut series, (0..26).filter(|place| *place != 5), |place| noise(place) + if place >= 20 { 6.0 } else { 0.0 });
    series.settle(20);
    assert_eq!(series.newest(), Some(25));
    assert_eq!(series.add(5, 100.0, 0.0, true), None);
    // The new level is what comes is compared with: going on there is no change, going back is one.
    let on = added(&mut series, 26..40, |place| 6.0 + noise(place));
    assert!(on.iter().flatten().all(|one| one.t < 4.0), "{on:?}");
    let back = added(&mut series, 40..46, noise).pop().flatten().expect("a change back");
    assert_eq!(back.first, 40);
    assert!(back.size < -4.0 && back.t > 6.0, "{back:?}");
}

#[test]
fn equal_runs_show_nothing_and_any_other_run_is_off() {
    let mut series = Series::new(3, None);
    assert!(added(&mut series, 0..40, |_| 3.0).iter().all(Option::is_none));
    for place in 40..43 {
        let shown = series.add(place, 3.1, 0.0, true).expect("a change");
        assert_eq!((shown.first, shown.after), (40, place - 39));
        assert!(shown.placed > 0.99, "{shown:?}");
        // Two may be spikes: they count as no more than 2.5 standard deviations.
        assert!(shown.after == 2 || (shown.t > 1e3 && (shown.size - 0.1).abs() < 1e-9), "{shown:?}");
    }
}

#[test]
fn few_runs_are_enough_where_their_spread_is_known() {
    let mut series = Series::new(3, Some(Spread { variance: 1.0, degrees: 20.0 }));
    let shown = added(&mut series, 0..5, |place| noise(place) + if place >= 2 { 9.0 } else { 0.0 });
    let last = shown[4].as_ref().expect("a change");
    assert_eq!((last.first, last.after), (2, 3));
    assert!(last.t > 5.0, "{last:?}");
}
