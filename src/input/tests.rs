//! Tests of whole files with the public functions.

use std::io::{Cursor, Write};

use super::{Findings, InputFormat, ListingOptions, OpenedFile, Records};
use crate::error::ErrorKind;

/// Returns the ids with their locations.
fn located(bytes: &[u8], name: &str, options: &ListingOptions) -> Result<Vec<String>, String> {
    let records = Records::open(Cursor::new(bytes.to_vec()), name, options);
    let records = records.map_err(|error| error.to_string())?;
    records
        .map(|record| record.map(|record| format!("{} {}", record.location, record.granule_id)))
        .collect::<Result<_, _>>()
        .map_err(|error| error.to_string())
}

fn read_lines(bytes: &[u8]) -> Result<Vec<String>, String> {
    located(bytes, "ids.txt", &ListingOptions::new().format(InputFormat::Lines))
}

#[test]
fn a_data_file_of_an_inventory_that_is_written_to_while_it_is_read_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("data.csv");
    std::fs::write(&path, "\"A\"\n\"B\"\n").unwrap();
    let manifest = r#"{"fileFormat":"CSV","fileSchema":"Key","files":[{"key":"x/data.csv","size":8,"MD5checksum":"MD5"}]}"#;
    let manifest = manifest.replace("MD5\"}", &format!("{}\"}}", md5_of("\"A\"\n\"B\"\n")));
    let options = ListingOptions::new().directory(directory.path().to_owned());
    let read = || {
        Records::open(std::io::Cursor::new(manifest.clone()), "manifest.json", &options).unwrap()
    };
    assert!(read().all(|record| record.is_ok()));
    let mut records = read();
    assert!(records.next().unwrap().is_ok());
    std::fs::write(&path, "\"A\"\n\"B\"\n\"C\"\n").unwrap();
    let last = records.last().unwrap().unwrap_err();
    assert!(last.to_string().ends_with("the data file was written to while it was read"), "{last}");
}

fn md5_of(text: &str) -> String {
    use md5::{Digest, Md5};
    hex::encode(Md5::digest(text))
}

#[test]
fn only_line_ends_and_a_byte_order_mark_are_removed() {
    let expected = ["ids.txt:1 A", "ids.txt:2  B ", "ids.txt:4 #C"].map(str::to_owned);
    for bytes in [
        b"A\n B \n\n#C\n".as_slice(),
        b"A\n B \n\n#C",
        b"A\r\n B \r\n\r\n#C\r\n",
        b"A\r\n B \r\n\r\n#C\r",
        b"\xef\xbb\xbfA\n B \n\r\n#C\r",
    ] {
        assert_eq!(read_lines(bytes).unwrap(), expected);
    }
    assert_eq!(read_lines(b"").unwrap(), Vec::<String>::new());
    assert_eq!(read_lines(b"\n\r\n\n").unwrap(), Vec::<String>::new());
}

#[test]
fn a_refused_line_is_named_with_its_reason() {
    let refused = [
        (
            b"A\nB\tC\n".as_slice(),
            "ids.txt:2: \"B\\tC\" is refused: a granule id has no control characters, but this one contains U+0009",
        ),
        (
            b"A\rB\n",
            "ids.txt:1: \"A\\rB\" is refused: a granule id has no control characters, but this one contains U+000D",
        ),
        (
            b"A\n\nB\xff\n",
            "ids.txt:3: \"B\u{fffd}\" is refused: a granule id is UTF-8, but byte 2 of this one is not",
        ),
        (
            b"A\r\r\n",
            "ids.txt:1: \"A\\r\" is refused: a granule id has no control characters, but this one contains U+000D",
        ),
    ];
    for (bytes, message) in refused {
        assert_eq!(read_lines(bytes), Err(message.to_owned()));
    }
}

#[test]
fn a_line_of_10_mb_is_refused_without_being_kept() {
    let error = read_lines(&vec![b'a'; 10_000_000]).unwrap_err();
    assert!(
        error.ends_with("is refused: a granule id has at most 1,024 bytes, but this one has more"),
        "{error}"
    );
    assert_eq!(read_lines(&[b'a'; 1_024]).unwrap().len(), 1);
    assert!(read_lines(&[b'a'; 1_025]).unwrap_err().ends_with("this one has 1025"));
}

fn read_table(bytes: &[u8], column: Option<&str>) -> Result<Vec<String>, String> {
    let options = ListingOptions::new().column(column.map(str::to_owned));
    located(bytes, "ids.csv", &options)
}

#[test]
fn a_column_is_found_by_name_at_any_position() {
    let cases: [(&[u8], Option<&str>); 6] = [
        (b"granule_id\nA\nB C\n", None),
        (b"id,granule_id,x\n1,A,\n2,B C,\n", None),
        (b"\xef\xbb\xbfx,granuleUr\r\n1,A\r\n2,B C\r\n", None),
        (b"x\tGranule UR\n1\tA\n2\tB C\r", None),
        (b"x,name\n\"1,1\",A\n2,\"B C\"\n", Some("name")),
        (b"\"granule_id\",\"x\"\n\"A\",\"None\"\n\"B C\",\"None\"", None),
    ];
    for (bytes, column) in cases {
        assert_eq!(read_table(bytes, column).unwrap(), ["ids.csv:2 A", "ids.csv:3 B C"]);
    }
}

#[test]
fn lines_are_counted_through_quoted_line_ends() {
    let bytes = b"id,title\nA,\"two\r\nlines\"\nB,\"one\"\n";
    assert_eq!(read_table(bytes, None).unwrap(), ["ids.csv:2 A", "ids.csv:4 B"]);
}

#[test]
fn refused_tables_say_why() {
    let cases: [(&[u8], Option<&str>, &str); 7] = [
        // The error lists the columns of the file.
        (
            b"id,x\nA,1\n",
            Some("name"),
            "ids.csv:1: there is no column \"name\"; the columns are \"id\", \"x\"",
        ),
        (
            b"\"a\",\"b\"\n1,2\n",
            None,
            "ids.csv:1: no column has a usual name for granule ids; the columns are \"a\", \"b\"",
        ),
        (
            b"id,x\nA,1\nB\n",
            None,
            "ids.csv:3: the row has 1 cell and the header has 2 cells: the file is truncated, or not a table",
        ),
        (b"id,x\nA,1\n,2\n", None, "ids.csv:3: \"\" is refused: a granule id cannot be empty"),
        (
            b"id,x\n\"A\nB\",1\n",
            None,
            "ids.csv:2: \"A\\nB\" is refused: a granule id has no control characters, but this one contains U+000A",
        ),
        (b"id,x,id\nA,1,B\n", None, "ids.csv:1: there are two columns named \"id\""),
        (
            b"id,x\nA\xff,1\n",
            None,
            "ids.csv:2: \"A\u{fffd}\" is refused: a granule id is UTF-8, but byte 2 of this one is not",
        ),
    ];
    for (bytes, column, message) in cases {
        assert_eq!(read_table(bytes, column), Err(message.to_owned()));
    }
}

#[test]
fn a_quote_that_is_never_closed_does_not_fill_memory() {
    let mut bytes = b"id,x\nA,\"".to_vec();
    bytes.resize(20 * 1_024 * 1_024, b'y');
    let error = read_table(&bytes, None).unwrap_err();
    assert!(error.contains("a row has more than 16777216 bytes"), "{error}");
}

fn records(bytes: impl Into<Vec<u8>>, name: &str) -> Result<Records, String> {
    let file = Cursor::new(bytes.into());
    Records::open(file, name, &ListingOptions::default()).map_err(|error| error.to_string())
}

fn ids(bytes: impl Into<Vec<u8>>, name: &str) -> Result<Vec<String>, String> {
    let records = records(bytes, name)?;
    records
        .map(|record| record.map(|record| record.granule_id.to_string()))
        .collect::<Result<_, _>>()
        .map_err(|error| error.to_string())
}

#[test]
fn a_header_in_any_case_does_not_become_a_granule() {
    for header in ["granule_id", "GRANULE_ID", "GranuleUR", "granule ur", "ID", "granule_ur"] {
        assert_eq!(ids(format!("{header}\nA\nB\n"), "ids.csv").unwrap(), ["A", "B"], "{header}");
    }
    assert_eq!(ids("ID,Granule_Id\n1,A\n", "ids.csv").unwrap(), ["A"]);
    assert_eq!(
        ids("Id,ID\n1,A\n", "ids.csv").unwrap_err(),
        "ids.csv:1: there are two columns named \"id\""
    );
    // An exact match takes precedence over a column that differs in case.
    assert_eq!(ids("ID,id\n1,A\n", "ids.csv").unwrap(), ["A"]);
}

#[test]
fn a_file_that_looks_wrong_is_reported_after_reading() {
    let mut sums = records("11  A\n22  B\n", "MD5SUMS").unwrap();
    assert_eq!(sums.warnings(), []);
    assert_eq!(sums.by_ref().count(), 2);
    let mut findings = Findings::default();
    findings.add("MD5SUMS", sums.findings());
    let refusal = findings.refusal().unwrap();
    assert_eq!(refusal.kind(), ErrorKind::NotAList);
    assert!(refusal.to_string().starts_with("MD5SUMS:1: \"11  A\" has a number and a name"));
    let mut plain = records("A\nB\n", "ids.txt").unwrap();
    assert_eq!(plain.by_ref().count(), 2);
    assert_eq!(plain.warnings(), []);
}

#[test]
fn an_ndjson_object_with_a_key_twice_is_refused() {
    let file = "{\"id\":\"A\"}\n{\"id\":\"B\",\"id\":\"C\"}\n";
    assert_eq!(
        ids(file, "ids.ndjson").unwrap_err(),
        "ids.ndjson:2: the key \"id\" occurs twice in one object"
    );
}

#[test]
fn a_file_that_is_not_a_list_of_granules_is_refused_and_the_error_says_what_it_is() {
    let utf16 =
        |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
    let gzip = {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all("granule\n".repeat(10_000).as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    let mut damaged = gzip.clone();
    let checksum = damaged.len() - 8;
    damaged[checksum] ^= 1;
    let page = "\n<!DOCTYPE html>\n<html><title>404</title></html>\n";
    let cases = [
        (utf16("\u{feff}A\nB\n"), "the file is UTF-16, not UTF-8"),
        (utf16("A.1\nB\n"), "the file is UTF-16, not UTF-8"),
        (gzip[..gzip.len() / 2].to_vec(), "the gzip file is truncated"),
        (gzip[..6].to_vec(), "the gzip file is truncated"),
        (page.into(), "this is an HTML page, not a list of granules"),
        (
            "<results><hits>1</hits><granule>A.1</granule></results>\n".into(),
            "this is an XML document, not a list of granules",
        ),
        (b"PAR1\x15\x04\x15".to_vec(), "this is a Parquet file, not a list of granules"),
        (b"ORC\x0a\x03\x00".to_vec(), "this is an ORC file, not a list of granules"),
    ];
    for (bytes, message) in cases {
        let error = ids(bytes.clone(), "file").unwrap_err();
        let (location, kind) = error.split_once(": ").unwrap();
        assert_eq!(kind, message);
        assert!(location.starts_with("file:"), "{location}");
        // Manifests are read with this function.
        let unpacked = OpenedFile::open(Cursor::new(bytes), "file").and_then(OpenedFile::unzipped);
        let copied = unpacked.map(|mut file| std::io::copy(&mut file, &mut std::io::sink()));
        assert!(matches!(copied, Err(_) | Ok(Err(_))), "{message}");
    }
    assert!(ids(damaged, "file").unwrap_err().contains(": the gzip file is damaged: "));
    let error = ids("A\n", "ids.gz").unwrap_err();
    assert_eq!(error, "ids.gz:1: the name ends in .gz, but the file is not gzip");
    let directory = std::fs::File::open(env!("CARGO_MANIFEST_DIR")).unwrap();
    let error = Records::open(directory, "ids", &ListingOptions::default()).err().unwrap();
    assert_eq!(error.to_string(), "ids:1: this is a directory, not a file");
}

#[test]
fn a_page_is_refused_in_every_structured_format() {
    for (_, format) in InputFormat::ALL {
        if matches!(format, InputFormat::Lines | InputFormat::Csv) {
            continue;
        }
        let options = ListingOptions::new().format(format);
        let error = Records::open(&b"<html>\n"[..], "file", &options).err().unwrap();
        assert!(error.to_string().contains("HTML"), "{format}: {error}");
    }
}

#[test]
fn an_id_may_begin_with_an_angle_bracket() {
    assert_eq!(ids("<1>\n<A\n", "file").unwrap(), ["<1>", "<A"]);
    assert_eq!(ids("ORC.1\nPAR1.2\n", "file").unwrap(), ["ORC.1", "PAR1.2"]);
}

/// A delivery record with one group of files, each with a size. Two sizes are stated for one path.
fn group(files: usize, path: impl Fn(usize) -> String) -> String {
    let file = |path: &str, size: usize| {
        format!(
            "OBJECT = FILE_SPEC;\nFILE_ID = {path};\nFILE_TYPE = SCIENCE;\nFILE_SIZE = {size};\nEND_OBJECT = FILE_SPEC;\n"
        )
    };
    let files: String = (0..files).map(|number| file(&path(number), 1)).collect();
    let odd = file("odd", 1) + &file("odd", 2);
    format!("OBJECT = FILE_GROUP;\n{files}{odd}END_OBJECT = FILE_GROUP;\n")
}

/// When each file was compared with every other, 40,000 files took minutes.
#[test]
fn a_granule_of_many_files_costs_a_lookup_a_file() {
    let begun = std::time::Instant::now();
    let options = ListingOptions::new().skip_odd_files(true);
    let delivery = Cursor::new(group(40_000, |number| format!("A.{number}")));
    let mut records = Records::open(delivery, "file", &options).unwrap();
    assert_eq!(records.next().unwrap().unwrap().files.len(), 40_000);
    assert!(records.next().is_none());
    assert_eq!(records.warnings().len(), 1);
    assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
}

#[test]
fn a_group_of_files_that_would_fill_memory_is_refused() {
    let path = |number| format!("{number:0>1000}");
    let delivery = Cursor::new(group(17_000, path));
    let error = Records::open(delivery, "file", &ListingOptions::default())
        .unwrap()
        .find_map(Result::err)
        .unwrap();
    assert!(error.to_string().ends_with("the FILE_GROUP has more than 16777216 bytes"), "{error}");
}

#[test]
fn dates_that_would_lose_something_are_refused() {
    let read = |ingested: &str, deleted: &str| {
        let file = format!("id,ingested,deleted\nA,{ingested},{deleted}\n");
        let events = OpenedFile::open(Cursor::new(file), "h.csv")
            .unwrap()
            .events(&ListingOptions::default())
            .unwrap();
        events.map(|event| event.map(|_| ())).collect::<Result<Vec<()>, _>>()
    };
    let message = |ingested: &str, deleted: &str| read(ingested, deleted).unwrap_err().to_string();
    assert_eq!(read("2001-01-02T00:00:00.123456000Z", "2001-01-03 04:05 UTC").unwrap().len(), 2);
    assert_eq!(
        message("2001-01-02T00:00:00.1234561Z", ""),
        "h.csv:2: \"2001-01-02T00:00:00.1234561Z\" is refused: a time has at most six decimals: finer ones would be lost"
    );
    assert_eq!(
        message("2001-02-30", ""),
        "h.csv:2: \"2001-02-30\" is refused: this day or this time of day does not exist"
    );
    assert_eq!(
        message("2001-01-02T12:34:60Z", ""),
        "h.csv:2: \"2001-01-02T12:34:60Z\" is refused: a leap second, :60, cannot be recorded: use the second before or after it"
    );
    assert_eq!(
        message("2001-01-02", "2001-01-01"),
        "h.csv:2: the granule was deleted at 2001-01-01T00:00:00Z, before it was ingested at 2001-01-02T00:00:00Z"
    );
}

#[test]
fn a_page_of_a_search_is_recognised_by_its_count_or_its_link() {
    let missing = |pages: &[&str]| {
        let mut findings = Findings::default();
        for page in pages {
            let mut records = records((*page).to_owned(), "page.json").unwrap();
            records.by_ref().for_each(|record| assert!(record.is_ok()));
            findings.add("page.json", records.findings());
        }
        findings.missing().unwrap_or_default()
    };
    let page = |beside: &str| {
        format!(r#"{{"type":"FeatureCollection",{beside}"features":[{{"id":"A"}},{{"id":"B"}}]}}"#)
    };
    let all = page("");
    assert_eq!(missing(&[&all]), "");
    for total in [
        r#""numberMatched":3,"#,
        r#""context":{"matched":3,"returned":2},"#,
        r#""properties":{"totalResults":"3"},"#,
        r#""hits":{"total":{"value":3,"relation":"eq"}},"#,
        r#""opensearch:totalResults":3,"#,
        r#""total_count":3,"#,
        r#""@odata.count":3,"#,
    ] {
        assert!(missing(&[&page(total)]).starts_with("the search found 3 granules"), "{total}");
        assert_eq!(missing(&[&page(&total.replace('3', "2"))]), "", "{total}");
    }
    for total in [
        r#""numberMatched":3.0,"#,
        r#""numberMatched":3e0,"#,
        r#""numberMatched":"3.0","#,
        r#""hits":{"total":{"value":3.0}},"#,
        r#""count":3.0,"#,
    ] {
        assert!(missing(&[&page(total)]).starts_with("the search found 3 granules"), "{total}");
        assert_eq!(missing(&[&page(&total.replace('3', "2"))]), "", "{total}");
    }
    for total in [
        r#""numberMatched":"1,000","#,
        r#""numberMatched":"about 3","#,
        r#""context":{"matched":2.5},"#,
        r#""hits":{"total":{"value":"2+"}},"#,
        r#""hits":-1,"#,
        r#""total":1e300,"#,
    ] {
        assert!(missing(&[&page(total)]).contains("is not a whole number"), "{total}");
    }
    for total in [
        r#""numberMatched":null,"#,
        r#""numberMatched":"","#,
        r#""found":true,"#,
        r#""found":"true","#,
        r#""links":{"total":"https://example.org/total"},"#,
    ] {
        assert_eq!(missing(&[&page(total)]), "", "{total}");
    }
    for next in [
        r#""links":[{"rel":"self"},{"rel":"next","href":"x"}],"#,
        r#""links":{"self":"x","next":"y"},"#,
        r#""_links":{"next":{"href":"y"}},"#,
        r#""next":"y","#,
        r#""@odata.nextLink":"y","#,
        r#""nextPageToken":"y","#,
        r#""pagination":{"hasMore":true},"#,
        r#""IsTruncated":true,"#,
        r#""_scroll_id":"y","#,
        r#""meta":{"links":[{"rel":"next"}]},"#,
        r#""numberMatched":2,"links":[{"rel":"next"}],"#,
    ] {
        let next = page(next);
        assert!(missing(&[&next]).contains("names a next page"), "{next}");
        // The last page has no link to a next page.
        if !next.contains("numberMatched") {
            assert_eq!(missing(&[&next, &all]), "", "{next}");
        }
    }
    for last in [
        r#""next":null,"#,
        r#""next":"","#,
        r#""hasMore":false,"#,
        r#""links":[{"rel":"self"}],"#,
        r#""links":{"next":null},"#,
        r#""numberMatched":2,"_scroll_id":"y","#,
        r#""total":1,"#,
    ] {
        assert_eq!(missing(&[&page(last)]), "", "{last}");
    }
}

#[test]
fn a_group_of_a_delivery_is_one_granule_and_long_lines_are_refused() {
    let spec = |file_id: &str, file_type: &str| {
        format!(
            "OBJECT = FILE_SPEC;\nFILE_ID = {file_id};\nFILE_TYPE = {file_type};\nEND_OBJECT = FILE_SPEC;\n"
        )
    };
    let group = |files: &str| format!("OBJECT = FILE_GROUP;\n{files}END_OBJECT = FILE_GROUP;\n");
    let files = [spec("A.met", "METADATA"), spec("A.hdf", "HDF"), spec("B.hdf", "HDF")].concat();
    let record = [group(&files), group(&spec("C.hdf", "HDF"))].concat();
    assert_eq!(ids(record.clone(), "a.pdr").unwrap(), ["A.hdf", "C.hdf"]);
    let options = ListingOptions::new().format(InputFormat::Pdr).column("FILE_ID".to_owned());
    let every = Records::open(Cursor::new(record), "a.pdr", &options).unwrap();
    assert_eq!(every.map(Result::unwrap).count(), 4);
    let error = ids(group(&spec("A.met", "METADATA")), "a.pdr").unwrap_err();
    assert_eq!(error, "a.pdr:6: there is no string at FILE_ID");
    let long = format!("OBJECT = FILE_GROUP;\nX = {};\n", "y".repeat(70_000));
    assert_eq!(ids(long, "a.pdr").unwrap_err(), "a.pdr:2: the line has more than 65536 bytes");
}

#[test]
fn a_document_is_read_whole_or_refused() {
    let size = |bytes: u64| format!("[{{\"Path\":\"A\",\"IsDir\":false,\"Size\":{bytes}}}]");
    let mut rclone = records(size(9), "a.json").unwrap();
    assert_eq!(rclone.next().unwrap().unwrap().files[0].size, Some(9));
    assert!(rclone.next().is_none());
    for (document, message) in [
        ("[{\"Path\":\"A\",\"IsDir\":false}", "the file is truncated"),
        ("[{\"Path\":\"A\",\"IsDir\":false}]]", "this is not valid JSON"),
        ("[{\"IsDir\":false,\"Path\":null}]", "there is no string at Path"),
        (
            "[{\"Path\":\"A\",\"IsDir\":false,\"Path\":\"B\"}]",
            "the JSON is not as the format has it: duplicate field `Path`",
        ),
        (
            "[{\"Path\":\"A\",\"IsDir\":7}]",
            "the JSON is not as the format has it: expected Boolean, found Number",
        ),
        ("[{\"Path\":\"A\",\"IsDir\":false},7]", ""),
    ] {
        let error = ids(document, "a.json").unwrap_err();
        assert!(error.starts_with("a.json:1: ") && error.contains(message), "{error}");
    }
    // Neither a skipped nor a read member fills memory.
    for key in ["Other", "Path"] {
        let long = format!("[{{\"IsDir\":false,\"{key}\":\"{}\"}}]", "y".repeat(20 << 20));
        let options = ListingOptions::new().format(InputFormat::Rclone);
        let error = located(long.as_bytes(), "a.json", &options).unwrap_err();
        assert!(error.contains("a row has more than 16777216 bytes"), "{error}");
    }
}

#[test]
fn a_canonical_list_is_recognised_by_the_strongest_checksum_of_its_first_file() {
    for (stated, is_recognised) in [
        (format!("blake3:{}", "a1".repeat(32)), true),
        (format!("md5:{}:a/b.nc", "0".repeat(32)), true),
        ("size:7".to_owned(), true),
        (format!("blake3:{}", "x".repeat(64)), false),
        ("12:30".to_owned(), false),
    ] {
        let refused = ids(format!("A\t{stated}\n"), "list.txt").err().unwrap_or_default();
        assert_eq!(refused.contains("the canonical list of a set"), is_recognised, "{stated}");
    }
}
