//! Keys and certificates of a real devnet, as the files that nodes read.

use slotmark_praos::certificate;
use slotmark_praos::envelope::{Envelope, OperationalCertificate, PaymentVerificationKey};

use crate::shared::shared;

fn file(name: &str) -> String {
    let path = shared("devnet-bed/keys").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
#[ignore = "needs the shared data: keys of a devnet"]
fn files_of_a_devnet_are_read_and_written_the_same() {
    let text = file("opcert.cert");
    let held: OperationalCertificate = Envelope::read(&text).unwrap().open().unwrap();
    assert!(certificate::verify(&held.cold_key, &held.certificate.view()));
    assert_eq!((held.certificate.sequence, held.certificate.kes_period), (0, 0));
    assert_eq!(Envelope::of(&held).text(), text);

    let text = file("faucet.vkey");
    let key: PaymentVerificationKey = Envelope::read(&text).unwrap().open().unwrap();
    assert_eq!(Envelope::of(&key).text(), text);
}
