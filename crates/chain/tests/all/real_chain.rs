//! The real chain: every block of it, against figures counted by another reader.

use std::ops::ControlFlow;

use slotmark_chain::{Chain, Point, summarise};

fn preview() -> Chain {
    let folder = std::env::var_os("SLOTMARK_PREVIEW_CHAIN").expect("SLOTMARK_PREVIEW_CHAIN names the real chain's folder");
    Chain::open(folder).expect("the real chain opens")
}

#[test]
#[ignore = "needs the shared data: the real chain"]
fn every_block_of_preview_is_read_and_decoded() {
    let chain = preview();
    assert_eq!((chain.chunk_count(), chain.len()), (300, 59_315));
    let before_last = chain.chunk_blocks(299).start;
    assert_eq!(before_last, 59_104);
    let whole = summarise(&chain, 0..chain.len(), &|_, _| ControlFlow::Continue(())).unwrap();
    assert_eq!((whole.bytes, whole.first_slot, whole.last_slot), (79_984_820, 0, 1_295_990));
    // Counted by pallas-hardano over the first 299 chunks: it leaves out the last one.
    let most = summarise(&chain, 0..before_last, &|_, _| ControlFlow::Continue(())).unwrap();
    assert_eq!((most.blocks, most.bytes, most.last_slot), (59_104, 79_347_362, 1_291_660));
    let eras: Vec<_> = most.eras.iter().map(|era| (era.era, era.blocks, era.transactions)).collect();
    assert_eq!(eras, [("Alonzo", 13_012, 4), ("Babbage", 46_092, 21_023)]);
    assert_eq!((most.blocks - most.empty_blocks, most.redeemers), (11_868, 3_319));
    let sizes: Vec<_> = ["p5", "p50", "p90", "p99", "max"].map(|name| most.block_bytes[name]).to_vec();
    assert_eq!(sizes, [860, 860, 1_860, 9_070, 64_074]);
}

#[test]
#[ignore = "needs the shared data: the real chain"]
fn windows_are_found_by_point() {
    let chain = preview();
    let window = chain.window(&Point::Origin, Some(10)).unwrap();
    assert_eq!((window.range.clone(), window.start), (0..10, Point::Origin));
    for index in [0, 1, 777, 59_314] {
        assert_eq!(chain.find(&chain.point(index)), Some(index));
    }
    let Point::Block { slot, .. } = chain.point(5) else { unreachable!() };
    assert_eq!(chain.find(&Point::Block { slot, hash: [0; 32] }), None);
    let densest = chain.densest_window(10_000).unwrap();
    let after = chain.window(&densest.start, Some(10_000)).unwrap();
    assert_eq!(after, densest);
    assert!(densest.bytes >= chain.window(&chain.point(49_103), Some(10_000)).unwrap().bytes);
    println!("densest 10,000 blocks: {} bytes after {}", densest.bytes, densest.start);
    assert!(chain.window(&chain.point(59_314), Some(1)).is_err());
}
