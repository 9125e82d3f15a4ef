//! Tests of whole files that look like lists of granules, but must be rejected.

use std::io::Cursor;

use super::{Findings, InputFormat, ListingOptions, Records};
use crate::error::{Error, ErrorKind};

/// Returns the ids in the files of one listing, or the error that rejects it. Each file is a name and its
/// content.
fn read(files: &[(&str, &str)], options: &ListingOptions) -> Result<Vec<String>, Error> {
    let mut findings = Findings::default();
    let mut ids = Vec::new();
    for (name, text) in files {
        let mut records = Records::open(Cursor::new((*text).to_owned()), name, options)?;
        while let Some(record) = records.next_listed()? {
            ids.push(record.granule_id.to_string());
        }
        records.add_to(&mut findings, name);
    }
    findings.refusal().map_or(Ok(ids), Err)
}

fn ids(name: &str, text: &str) -> Vec<String> {
    read(&[(name, text)], &ListingOptions::new()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Asserts that a file is rejected with this kind of error, and with these words in the message or the hint.
fn refused(name: &str, text: &str, kind: ErrorKind, words: &str) {
    let error = read(&[(name, text)], &ListingOptions::new()).err();
    let error = error.unwrap_or_else(|| panic!("{text} is accepted"));
    let whole = format!("{error}\nhint: {}", error.hint().unwrap_or_default());
    assert!(error.kind() == kind && whole.contains(words), "{text}: {kind:?} {whole}");
}

fn only(filter: &str) -> ListingOptions {
    ListingOptions::new().only(vec![filter.parse().unwrap()])
}

const MD5: &str = "900150983cd24fb0d6963f7d28e17f72";
const SHA256: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

#[test]
fn lines_of_json_with_several_states_or_collections_are_refused_until_one_is_selected() {
    let cumulus = "{\"granuleId\":\"A\",\"collection\":\"X___1\",\"status\":\"completed\"}\n\
                   {\"granuleId\":\"B\",\"collection\":\"X___1\",\"status\":\"failed\"}\n";
    for (text, words) in [
        (
            "{\"granule_id\":\"A\",\"status\":\"ok\"}\n{\"granule_id\":\"B\",\"status\":\"failed\"}\n",
            "the field \"status\" has several values: \"ok\" (1), \"failed\" (1)\nhint: --only status=ok",
        ),
        (cumulus, "--only status=completed reads the objects with this value"),
        (
            "{\"id\":\"A\",\"collectionId\":\"x\"}\n{\"id\":\"B\",\"collectionId\":\"y\"}\n",
            "collectionId",
        ),
        ("{\"id\":\"A\"}\n{\"id\":\"B\",\"deleted\":true}\n", "\"true\" (1), \"\" (1)"),
        (
            "{\"id\":\"A\",\"deletedAt\":null}\n{\"id\":\"B\",\"deletedAt\":\"2024\"}\n",
            "--only deletedAt=",
        ),
    ] {
        refused("x.ndjson", text, ErrorKind::NotAList, words);
    }
    let selected = read(&[("x.ndjson", cumulus)], &only("status=completed")).unwrap();
    assert_eq!(selected, ["A"]);
    assert_eq!(read(&[("x.ndjson", cumulus)], &only("status=*")).unwrap(), ["A", "B"]);
    let marked = "{\"id\":\"A\"}\n{\"id\":\"B\",\"deleted\":true}\n";
    assert_eq!(read(&[("x.ndjson", marked)], &only("deleted=")).unwrap(), ["A"]);
    let error = read(&[("x.ndjson", marked)], &only("deletde=")).unwrap_err();
    assert!(error.to_string().ends_with("there is no string at deletde"), "{error}");
    assert_eq!(
        read(&[("x.ndjson", "")], &only("deleted=").format(InputFormat::Ndjson)).unwrap(),
        [""; 0]
    );
    let same = cumulus.replace("failed", "completed");
    assert_eq!(ids("x.ndjson", &same), ["A", "B"]);
}

#[test]
fn the_states_and_collections_of_all_files_count_together() {
    let status = [("a.csv", "id,status\nA,ok\n"), ("b.csv", "id,status\nB,failed\n")];
    let item = |id: &str, collection: &str| {
        format!(
            r#"{{"type":"FeatureCollection","features":[{{"id":"{id}","collection":"{collection}"}}]}}"#
        )
    };
    let (one, other) = (item("A", "x"), item("B", "y"));
    let stac = [("a.json", one.as_str()), ("b.json", other.as_str())];
    let collection = [
        ("a.csv", "id,collectionId\nA,X\n"),
        ("b.ndjson", "{\"id\":\"B\",\"collectionId\":\"Y\"}\n"),
    ];
    for (files, words) in [
        (status, "a.csv:1: the column \"status\" has several values: \"ok\" (1), \"failed\" (1)"),
        (stac, "a.json:1: the granules are of several collections: \"x\" (1), \"y\" (1)"),
        (collection, "a.csv:1: the column \"collectionId\" has several values"),
    ] {
        let error = read(&files, &ListingOptions::new()).unwrap_err();
        assert!(error.to_string().starts_with(words), "{error}");
        for file in files {
            assert_eq!(ids(file.0, file.1).len(), 1);
        }
    }
}

#[test]
fn the_objects_of_one_directory_of_a_bucket_are_incomplete() {
    let listing = r#"{"Contents":[{"Key":"A.nc","Size":3}],"CommonPrefixes":[{"Prefix":"sub/"}],"Delimiter":"/","IsTruncated":false}"#;
    refused("x.json", listing, ErrorKind::Incomplete, "list without --delimiter");
    assert_eq!(ids("x.json", &listing.replace(r#"{"Prefix":"sub/"}"#, "")), ["A.nc"]);
    let counted = r#"{"KeyCount":9,"Contents":[{"Key":"A.nc"}]}"#;
    refused("x.json", counted, ErrorKind::Incomplete, "states that it has 9 granules, and has 1");
}

#[test]
fn versions_of_objects_are_recognised_in_any_order_of_members() {
    let markers = r#""DeleteMarkers":[{"Key":"B.nc","VersionId":"v","IsLatest":true}]"#;
    let versions = r#""Versions":[{"Key":"A.nc","IsLatest":true,"VersionId":"x"},{"Key":"B.nc","IsLatest":false,"VersionId":"y"}]"#;
    for members in [format!("{markers},{versions}"), format!("{versions},{markers}")] {
        assert_eq!(ids("x.json", &format!("{{{members}}}")), ["A.nc"]);
    }
    // The versions may begin after the part from which the format is detected.
    let many = vec![r#"{"Key":"B.nc","VersionId":"v","IsLatest":true}"#; 2_000].join(",");
    let late = format!(r#"{{"DeleteMarkers":[{many}],{versions}}}"#);
    assert_eq!(ids("x.json", &late), ["A.nc"]);
}

#[test]
fn a_delivery_with_fewer_files_than_it_states_is_incomplete() {
    let record = |stated: u32| {
        format!(
            "TOTAL_FILE_COUNT = {stated};\nOBJECT = FILE_GROUP;\nOBJECT = FILE_SPEC;\nFILE_ID = A.nc;\nFILE_TYPE = DATA;\nEND_OBJECT = FILE_SPEC;\nEND_OBJECT = FILE_GROUP;\n"
        )
    };
    let words = "TOTAL_FILE_COUNT is 2, and the record has 1 FILE_SPEC";
    refused("x.pdr", &record(2), ErrorKind::Incomplete, words);
    assert_eq!(ids("x.pdr", &record(1)), ["A.nc"]);
}

#[test]
fn a_response_that_says_that_it_is_not_whole_is_incomplete() {
    let page = |beside: &str| {
        format!(r#"{{"type":"FeatureCollection",{beside},"features":[{{"id":"A"}},{{"id":"B"}}]}}"#)
    };
    for beside in [
        r#""numberReturned":3"#,
        r#""context":{"returned":3}"#,
        r#""meta":{"pagination":{"total":3}}"#,
        r#""data":{"page":{"totalElements":3}}"#,
        r#""count":3"#,
        r#""meta":{"count":3}"#,
        r#""recordCount":3"#,
        r#""resultCount":"3""#,
        r#""num_results":3"#,
        r#""isLast":false"#,
        r#""last":false"#,
        r#""endOfRecords":false"#,
        r#""search_after":["x"]"#,
        r#""is_complete":false"#,
        r#""partial":true"#,
        r#""timed_out":true"#,
        r#""responseHeader":{"partialResults":true}"#,
        r#""errors":["node x timed out"]"#,
        r#""errors":{"x":1}"#,
        r#""_shards":{"total":1,"failed":1}"#,
        r#""links":[{"rel":["next"],"href":"x"}]"#,
        r#""links":[{"rel":"http://www.iana.org/assignments/relation/next"}]"#,
    ] {
        refused("x.json", &page(beside), ErrorKind::Incomplete, "");
    }
    for beside in [
        r#""numberReturned":2"#,
        r#""count":1"#,
        r#""facets":{"count":9}"#,
        r#""facets":{"platform":{"total":9}}"#,
        r#""last":true"#,
        r#""last":9"#,
        r#""search_after":[]"#,
        r#""partial":false"#,
        r#""is_complete":true"#,
        r#""errors":[]"#,
        r#""error":null"#,
        r#""_shards":{"total":5,"successful":5,"failed":0}"#,
        r#""links":[{"rel":["self","prev"]},{"rel":"http://x/nextgen"}]"#,
    ] {
        assert_eq!(ids("x.json", &page(beside)), ["A", "B"], "{beside}");
    }
    // The size of a page is not a total.
    let ten: Vec<String> = (0..10).map(|id| format!(r#"{{"id":"{id}"}}"#)).collect();
    let ten =
        format!(r#"{{"type":"FeatureCollection","count":10,"features":[{}]}}"#, ten.join(","));
    refused("x.json", &ten, ErrorKind::Incomplete, "size of a page");
}

#[test]
fn what_is_no_path_in_a_checksum_list_is_not_recorded_as_one() {
    let list = |rest: &str| format!("{MD5}  A.nc\n{rest}\n");
    let unsupported = ids("x.md5", &list("                     UNSUPPORTED  B.nc"));
    assert_eq!(unsupported, ["A.nc", "B.nc"]);
    for (name, text, words) in [
        (
            "x.md5",
            list("                           ERROR  B.nc"),
            "an error in place of a checksum",
        ),
        ("x.txt", format!("{SHA256} * A.nc\n{SHA256} - B.nc\n"), "git lfs"),
        ("x.txt", format!("{SHA256} * A.nc\n"), "begins or ends with a blank"),
        ("x.md5", format!("{MD5}  A.nc \n{MD5}  B.nc \n"), "begins or ends with a blank"),
        ("x.txt", format!("A.nc\nB.nc\n{MD5}  C.nc\n"), "is a line of a checksum list"),
        (
            "x.txt",
            format!("A.nc\nB.nc\nC.nc\nMD5 (D.nc) = {MD5}\n"),
            "is a line of a checksum list",
        ),
        ("x.txt", format!("HMAC-SHA256(A.nc)= {SHA256}\n"), "is not a line of a checksum list"),
    ] {
        refused(name, &text, ErrorKind::NotAList, words);
    }
    let stdin = format!("SHA2-256(stdin)= {SHA256}\n");
    refused("x.txt", &stdin, ErrorKind::Input, "read from standard input");
    assert_eq!(ids("x.txt", &format!("SHA256 (stdin) = {SHA256}\n")), ["stdin"]);
}

#[test]
fn the_name_of_a_file_says_the_algorithm_of_short_and_of_long_checksums() {
    for (name, checksum, algorithm) in [
        ("x.xxh64", "1234567890abcdef", "xxh64"),
        ("x.crc32", "12345678", "crc32"),
        ("md5checksums.txt", MD5, "md5"),
        ("checksums.md5", MD5, "md5"),
        ("sha256_checksums.txt", SHA256, "sha-256"),
        ("checksums-blake3.txt", SHA256, "blake3"),
    ] {
        let text = format!("{checksum}  A.nc\n");
        let mut records = Records::open(Cursor::new(text), name, &ListingOptions::new()).unwrap();
        let record = records.next().unwrap().unwrap();
        assert_eq!(record.granule_id.as_str(), "A.nc");
        let stated = record.files[0].checksum.as_ref().unwrap();
        assert_eq!(stated.algorithm().as_str(), algorithm, "{name}");
        let mut findings = Findings::default();
        records.add_to(&mut findings, name);
        assert_eq!(findings.guessed_algorithms().count(), 0, "{name}");
    }
}

#[test]
fn ids_with_separators_are_not_offered_as_the_names_of_columns() {
    for text in [
        "A_1.nc\tB_2.nc\nC.nc\tD.nc\n",
        "A.nc,B.nc\nC.nc,D.nc\n",
        "A.NC;1\nB.NC;2\n",
        "Smith, J. 2024.pdf\nDoe, A. 2023.pdf\n",
    ] {
        let words = "--no-header --column 1 reads the ids in the first column of all rows; if each line is one id, --format lines";
        refused("x.txt", text, ErrorKind::Input, words);
    }
    // The name of a column may contain a point.
    refused(
        "x.csv",
        "file.name,meta.size\nA,1\n",
        ErrorKind::Input,
        "the columns are \"file.name\"",
    );
}

#[test]
fn a_hint_names_the_command_that_prints_what_a_document_has() {
    for (text, words) in [
        (
            r#"{"x":1,"files":[{"key":"A.nc"}]}"#,
            "`jq -c '.files[]' FILE` prints one object a line; --column key reads",
        ),
        (r#"{"x":1,"files":[{"size":1,"name":"A.nc"}]}"#, "--column name reads"),
        (r#"{"x":1,"files":["A.nc"]}"#, "`jq -r '.files[]' FILE` prints the strings"),
        (
            r#"{"x":1,"results":[{"granuleId":"A"}]}"#,
            "`jq -c '.\"results\"[]' FILE` prints one object a line (inputs",
        ),
        (r#"{"x":1,"rows":[["A"]]}"#, "`jq -r '.\"rows\"[][0]' FILE` prints"),
        (
            "{\"granule_id\":\"A\"},\n{\"granule_id\":\"B\"}\n",
            "`sed 's/,$//' FILE` removes the commas",
        ),
    ] {
        refused("x.json", text, ErrorKind::NotAList, words);
    }
    for (text, words) in [
        (r#"[["A.nc",3],["B.nc",9]]"#, "`jq -r '.[][0]' FILE` prints"),
        (
            r#"[{"name":"A.nc"}]"#,
            "`jq -c '.[]' FILE` prints one object a line; --column name reads",
        ),
        (r#"["A.nc"]"#, "`jq -r '.[]' FILE` prints the strings"),
    ] {
        refused("x.json", text, ErrorKind::Input, words);
    }
    // Ids can begin with brackets.
    assert_eq!(ids("x.txt", "[[A]]\n[[B]]\n"), ["[[A]]", "[[B]]"]);
}

#[test]
fn the_hint_for_a_compressed_file_is_a_command_without_a_dataset() {
    let file = Cursor::new(b"\xfd7zXZ\0\0".to_vec());
    let error = Records::open(file, "my list.xz", &ListingOptions::new()).unwrap_err();
    let hint = error.hint().unwrap().to_owned();
    assert!(hint.starts_with("unpack it: `xz -dc 'my list.xz'` prints"), "{hint}");
}

#[test]
fn a_total_of_each_catalogue_may_be_a_float_and_must_be_a_number() {
    for (document, name) in [
        (
            r#"{"responseHeader":{},"response":{"numFound":2.0,"docs":[{"instance_id":"A"}]}}"#,
            "esgf.json",
        ),
        (r#"{"hits":2.0,"took":1,"items":[{"umm":{"GranuleUR":"A"}}]}"#, "umm.json"),
        (r#"{"type":"FeatureCollection","numberMatched":2e0,"features":[{"id":"A"}]}"#, "s.json"),
    ] {
        refused(name, document, ErrorKind::Incomplete, "the search found 2 granules");
        for one in ["1.0", "1e0", "\"1\""] {
            let document = document.replace("2.0", one).replace("2e0", one);
            assert_eq!(ids(name, &document), ["A"], "{document}");
        }
        let unread = document.replace("2.0", "\"1,000\"").replace("2e0", "\"1,000\"");
        refused(name, &unread, ErrorKind::Incomplete, "and \"1,000\" of \"");
        refused(name, &unread, ErrorKind::Incomplete, "hint: --total N states");
    }
}

#[test]
fn a_number_that_may_not_be_the_one_that_is_written_is_refused() {
    let cumulus = |members: &str| {
        (
            format!("{{\"granuleId\":\"A\",\"files\":[{{\"key\":\"A.nc\",{members}}}]}}\n"),
            "a.ndjson",
        )
    };
    let esgf = |members: &str| {
        (
            format!(
                r#"{{"responseHeader":{{}},"response":{{"docs":[{{"instance_id":"A","title":"A.nc",{members}}}]}}}}"#
            ),
            "e.json",
        )
    };
    let read = |(text, name): (String, &str), options: &ListingOptions| {
        let mut records = Records::open(Cursor::new(text), name, options).unwrap();
        let found = records.next().unwrap().map(|record| record.files);
        (found.map_err(|error| error.to_string()), records.warnings().len())
    };
    let md5 = "12345678901234567890123456789012";
    let number = format!("\"size\":1,\"checksumType\":\"md5\",\"checksum\":{md5}");
    let of_both = "\"checksum\":[\"d41d8cd98f00b204e9800998ecf8427e\",\"da39a3ee5e6b4b0d3255bfef95601890afd80709\"]";
    let types = format!("{of_both},\"checksum_type\":[\"MD5\",\"SHA1\"]");
    for (odd, words) in [
        (cumulus(&number), "the checksum of \"a.nc\" is a number, not a string"),
        (cumulus("\"checksumType\":\"crc32\",\"checksum\":1234e1"), "is a number"),
        (cumulus("\"checksumType\":\"crc32\",\"checksum\":12345678"), "is a number"),
        (cumulus("\"checksumType\":\"xxh3\",\"checksum\":1234567890123456789012"), "is a number"),
        (cumulus("\"size\":9007199254740993.0"), "is not a size in bytes"),
        (cumulus("\"size\":[1,2]"), "\"1, 2\" is not a size in bytes"),
        (esgf("\"size\":1,\"checksum_type\":\"MD5\",\"checksum\":[1234567890]"), "is a number"),
        (esgf(of_both), "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
        (esgf(&types), "md5, sha1"),
        (esgf("\"size\":9007199254740993e0"), "is not a size in bytes"),
    ] {
        let (refused, _) = read(odd.clone(), &ListingOptions::new());
        let refused = refused.unwrap_err();
        assert!(refused.to_lowercase().contains(words), "{refused}");
        let (skipped, warnings) = read(odd, &ListingOptions::new().skip_odd_files(true));
        assert_eq!((skipped, warnings), (Ok(Vec::new()), 1), "{words}");
    }
    let size = |(text, name): (String, &str)| {
        read((text, name), &ListingOptions::new()).0.unwrap()[0].size
    };
    assert_eq!(size(cumulus("\"size\":9007199254740993")), Some(9_007_199_254_740_993));
    assert_eq!(size(cumulus("\"size\":5.0")), Some(5));
    assert_eq!(size(cumulus("\"size\":[5]")), Some(5));
    assert_eq!(size(esgf("\"size\":5e0")), Some(5));
    let (cksum, _) =
        read(cumulus("\"checksumType\":\"cksum\",\"checksum\":4294967295"), &ListingOptions::new());
    assert_eq!(format!("{:?}", cksum.unwrap()[0].checksum.as_ref().unwrap()), "cksum:4294967295");
}
