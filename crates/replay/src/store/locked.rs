//! Versions of packages, as the lock file has them.

/// The lock file that the program is built by.
const LOCK: &str = include_str!("../../../../Cargo.lock");

/// Major and minor version of a package that this one depends on; empty where it doesn't.
pub(super) fn version(package: &str) -> &'static str {
    version_in(LOCK, env!("CARGO_PKG_NAME"), package).unwrap_or_default()
}

fn version_in<'l>(lock: &'l str, whose: &str, package: &str) -> Option<&'l str> {
    let block = |name: &str, version: &str| {
        lock.split("[[package]]").find(|block| block.contains(&format!("\nname = \"{name}\"\nversion = \"{version}")))
    };
    // A package that is there in several versions has its own beside its name.
    let named =
        |line: &'l str| line.trim().trim_matches([',', '"']).strip_prefix(package).filter(|rest| rest.is_empty() || rest.starts_with(' '));
    let wanted = block(whose, "")?.lines().find_map(named)?.trim();
    let version = block(package, wanted)?.lines().find_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"'))?;
    let end = version.match_indices('.').nth(1).map_or(version.len(), |(place, _)| place);
    Some(&version[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_that_which_the_package_itself_depends_on() {
        let lock = r#"
[[package]]
name = "map"
version = "0.9.1"

[[package]]
name = "map"
version = "0.17.2"

[[package]]
name = "ours"
version = "0.1.0"
dependencies = [
 "map 0.17.2",
 "map-more",
 "tree",
]

[[package]]
name = "tree"
version = "3.1.13"
"#;
        assert_eq!(
            ["map", "tree", "ma", "other"].map(|package| version_in(lock, "ours", package)),
            [Some("0.17"), Some("3.1"), None, None]
        );
        assert!(!version("fjall").is_empty() && !version("hashbrown").is_empty());
    }
}
