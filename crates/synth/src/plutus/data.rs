//! Plutus data as cardano-cli's files have it: JSON in its detailed schema, or CBOR in hexadecimal digits.

use serde_json::Value;

use slotmark_chain::CborBuffer;

/// Bytes of one piece of a byte string; longer ones are written in pieces.
const PIECE: usize = 64;

/// Reads Plutus data.
///
/// # Errors
/// The text is neither; the message names what was expected.
pub(super) fn read(text: &str) -> Result<Vec<u8>, String> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return hex::decode(text).map_err(|_| "an odd number of hexadecimal digits: expected CBOR, two digits a byte".to_owned());
    }
    let value: Value = serde_json::from_str(text).map_err(|error| {
        format!(
            "neither hexadecimal digits nor JSON (line {}): expected Plutus data as cardano-cli has it, as {{\"int\": 5}}",
            error.line()
        )
    })?;
    let mut data = Vec::new();
    put(&value, &mut data)?;
    Ok(data)
}

/// Appends data as Plutus's own encoder writes them: lists that aren't empty are of indefinite length.
fn put(value: &Value, out: &mut Vec<u8>) -> Result<(), String> {
    let expected = || {
        "no Plutus data: expected objects of constructor and fields, of int, bytes, list or map, as {\"constructor\": 0, \"fields\": []}"
            .to_owned()
    };
    let object = value.as_object().ok_or_else(expected)?;
    match (object.len(), object.iter().next().map(|(key, value)| (key.as_str(), value))) {
        (1, Some(("int", number))) => match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => out.uint(number),
            (_, Some(number)) => out.int(number),
            _ => return Err("an int that isn't whole or beyond 64 bits: give such a number as CBOR in hexadecimal digits".to_owned()),
        },
        (1, Some(("bytes", text))) => {
            let bytes = hex::decode(text.as_str().ok_or_else(expected)?);
            put_bytes(&bytes.map_err(|_| "bytes that aren't hexadecimal digits, two a byte".to_owned())?, out);
        }
        (1, Some(("list", items))) => put_list(items.as_array().ok_or_else(expected)?, out)?,
        (1, Some(("map", pairs))) => {
            let pairs = pairs.as_array().ok_or_else(expected)?;
            out.map(pairs.len());
            for pair in pairs {
                let pair = pair.as_object().filter(|pair| pair.len() == 2).ok_or_else(expected)?;
                put(pair.get("k").ok_or_else(expected)?, out)?;
                put(pair.get("v").ok_or_else(expected)?, out)?;
            }
        }
        (2, _) => {
            let number = object.get("constructor").and_then(Value::as_u64).ok_or_else(expected)?;
            let fields = object.get("fields").and_then(Value::as_array).ok_or_else(expected)?;
            match number {
                0..=6 => out.tag(121 + number),
                7..=127 => out.tag(1_280 + number - 7),
                _ => {
                    out.tag(102);
                    out.array(2);
                    out.uint(number);
                }
            }
            put_list(fields, out)?;
        }
        _ => return Err(expected()),
    }
    Ok(())
}

fn put_list(items: &[Value], out: &mut Vec<u8>) -> Result<(), String> {
    if items.is_empty() {
        out.array(0);
        return Ok(());
    }
    out.push(0x9f);
    items.iter().try_for_each(|item| put(item, out))?;
    out.push(0xff);
    Ok(())
}

fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    if bytes.len() <= PIECE {
        return out.bytes(bytes);
    }
    out.push(0x5f);
    bytes.chunks(PIECE).for_each(|piece| out.bytes(piece));
    out.push(0xff);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_are_written_as_plutus_writes_them() {
        for (text, expected) in [
            (r#"{"int": 5}"#, "05"),
            (r#"{"int": -1}"#, "20"),
            (r#"{"int": 18446744073709551615}"#, "1bffffffffffffffff"),
            (r#"{"bytes": "0a0b"}"#, "420a0b"),
            (r#"{"constructor": 0, "fields": []}"#, "d87980"),
            (r#"{"fields": [{"int": 1}], "constructor": 7}"#, "d905009f01ff"),
            (r#"{"constructor": 128, "fields": []}"#, "d86682188080"),
            (r#"{"list": [{"int": 1}, {"list": []}]}"#, "9f0180ff"),
            (r#"{"map": [{"k": {"int": 1}, "v": {"bytes": ""}}]}"#, "a10140"),
            (" d87980\n", "d87980"),
        ] {
            assert_eq!(hex::encode(read(text).expect(text)), expected, "{text}");
        }
        let long = read(&format!(r#"{{"bytes": "{}"}}"#, "ab".repeat(65))).expect("long bytes");
        assert_eq!((long[0], long[1], long[2], long.len(), long[68]), (0x5f, 0x58, 64, 70, 0xab));
        for wrong in
            ["", "abc", "5", r#"{"int": 0.5}"#, r#"{"int": 1, "bytes": ""}"#, r#"{"bytes": "x"}"#, r#"{"list": 1}"#, r#"{"other": 1}"#]
        {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert!(read(&format!("{}{}", r#"{"list": ["#.repeat(5_000), "]}".repeat(5_000))).is_err());
    }
}
