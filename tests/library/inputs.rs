//! Files that are not what they seem: each kind is read rightly or refused, in several spellings.

use accession::listing::InputFormat;
use accession::{ErrorKind, Listing, ListingOptions};

fn listed(name: &str, text: &str, options: &ListingOptions) -> Result<Vec<String>, String> {
    let text = text.as_bytes().to_vec();
    let listing = Listing::from_reader(std::io::Cursor::new(text), name, options);
    let listing = listing.map_err(|error| format!("{}: {error}", error.kind()))?;
    let files = listing.files().unwrap();
    Ok(files.map(|granule| granule.unwrap().granule_id.to_string()).collect())
}

fn ids(name: &str, text: &str) -> Result<Vec<String>, String> {
    listed(name, text, &ListingOptions::new())
}

/// Each text is refused as this kind.
fn all_refused(kind: ErrorKind, texts: &[&str]) {
    for text in texts {
        let refused = ids("list.txt", text).err().unwrap_or_else(|| format!("accepted: {text:?}"));
        assert!(refused.starts_with(kind.as_str()), "{refused}");
    }
}

#[test]
fn directories_that_find_prints_before_what_is_in_them_are_left_out() {
    let listing = |text: &'static str| {
        Listing::from_reader(text.as_bytes(), "list.txt", &ListingOptions::new()).unwrap()
    };
    let found = listing(".\n./sub\n./sub/A\n./sub/deep\n./sub/deep/B\n./sub-1\n./C\n");
    let ids = found.files().unwrap().map(|it| it.unwrap().granule_id.to_string());
    assert_eq!(ids.collect::<Vec<_>>(), ["./C", "./sub-1", "./sub/A", "./sub/deep/B"]);
    let warnings: Vec<String> = found.warnings().iter().map(ToString::to_string).collect();
    assert_eq!(warnings, ["list.txt: skipped 3 directories"]);
    // Only a list of find has directories before what is in them; elsewhere `a` is found beside `a/c`.
    let other = listing("sub\nsub/A\n");
    assert_eq!(other.listed_directory().unwrap().unwrap().directory.as_str(), "sub");
}

#[test]
fn lines_that_are_no_ids_are_refused_in_any_spelling() {
    all_refused(
        ErrorKind::NotAList,
        &[
            // Permissions.
            "total 8\n-rw-r--r-- 1 foo foo 1234 Jan 12 03:04 A.nc\n",
            "drwxr-xr-x.  2 foo foo 4096 2024-01-02 03:04 sub\n-rw-r--r--. 1 foo foo 3 2024-01-02 03:04 A\n",
            "  1234567      4 -rw-r--r--   1 foo  foo   1234 Jan 12 03:04 ./A.nc\n",
            "-rw-r--r--          1,234 2024/01/02 03:04:05 A.nc\n",
            // A date and a size, or the reverse.
            "2024-01-02 03:04:05  12345 sub/A.nc\n",
            "2024-01-02 03:04      1234   s3://bucket/A.nc\n",
            "[2024-01-02 03:04:05 UTC]  12KiB A.nc\n",
            "01/02/2024  03:04 AM         1,234 A.nc\n",
            "                           PRE sub/\n2024-01-02 03:04:05 1 A\n",
            "123456789 2024-01-02 03:04:05.000000000 sub/A.nc\n",
            "      1234  2024-01-02T03:04:05Z  gs://bucket/A.nc\n",
            "     1234  2024-01-02 03:04   A.nc\n",
            "A.nc   2024-01-02 03:04  1.2M\n",
            "     1234 sub/A.nc\n      999 sub/B.nc\n",
            // Scripts, comments, quotes.
            "#!/bin/sh\necho A\n",
            "@echo off\nA\n",
            "Access denied\n",
            "Permission denied.\n",
            "# list of March\nA\n",
            "; list\nA\n",
            "% list\nA\n",
            "// list\nA\n",
            "\"A.nc\"\n\"B.nc\"\n",
            "'A.nc'\n'B.nc'\n",
            "\"A.nc\",\n\"B.nc\"\n",
            // Addresses that expire.
            "https://x.example.org/A.tif?sp=rl&sig=AAAA%3D\n",
            "https://x.example.org/A.tif?X-Amz-Signature=00&X-Amz-Expires=60\n",
            "https://x.example.org/A.tif?Expires=1&Signature=x&Key-Pair-Id=K\n",
            // Messages.
            "A\nfind: './x': Permission denied\n",
            "A\nls: cannot access 'x': No such file or directory\n",
            "A\n/usr/bin/find: ‘./x’: Keine Berechtigung\n",
            "2024/01/02 03:04:05 ERROR : x: failed to list\nA\n",
            "total 12\nA\n",
            "./sub:\nA\n",
            // Several ids.
            "A.nc B.nc C.nc\n",
            "A,B,C\n",
            "A.1.nc; B.2.nc; C.3.nc\n",
            "A_1.nc  A_2.nc\nA_3.nc  A_4.nc\nA_5.nc\n",
            "['A.nc', 'B.nc']\n",
            // Checksums in an order that is not read, and lists to fetch.
            "A.nc 900150983cd24fb0d6963f7d28e17f72\nB.nc d41d8cd98f00b204e9800998ecf8427e\n",
            "https://x.example.org/A.nc 3 data/A.nc\n",
            "https://x.example.org/A.nc - data/A.nc\n",
        ],
    );
}

#[test]
fn odd_but_real_ids_are_read() {
    for text in [
        "AST_L1A#00311092015232127_11102015081255.hdf",
        "ASTL1A 1611070036271611089000",
        "SC:AST_09T.003:2699270593",
        "HAQ_TROPOMI_NO2_CONUS_A_L3.2.4 ",
        "CMIP6.x.v20190101.tas.nc|esgf.example.org",
        "900150983cd24fb0d6963f7d28e17f72",
        "https://x.example.org/A.nc?version=2",
        "s3://bucket/2024-01-02/A.nc",
        "2024-01-02",
        "-A.nc",
        "x/[1]/A.nc",
    ] {
        assert_eq!(ids("list.txt", &format!("{text}\n")), Ok(vec![text.to_owned()]));
    }
}

#[test]
fn a_checksum_list_is_read_in_any_spelling_and_file() {
    const MD5: &str = "900150983cd24fb0d6963f7d28e17f72";
    for (name, text) in [
        ("manifest-md5.txt", format!("{MD5} data/A B.nc\n")),
        ("manifest-md5.txt", format!("{MD5}\tdata/A B.nc\n")),
        ("tagmanifest-md5.txt", format!("{MD5}   data/A B.nc\n")),
        ("list.txt", format!("# made today\n\n{MD5} *data/A B.nc\n")),
        ("list.md5", format!("; made today\r\n{MD5} *data/A B.nc\r\n")),
        ("MD5SUMS", format!("\n{MD5}  ./data/A B.nc\n")),
        ("list.txt", format!("MD5(data/A B.nc)= {MD5}\n")),
        ("list.txt", format!("MD5 (data/A B.nc) = {MD5}\n")),
        (
            "list.txt",
            format!("%%%% HASHDEEP-1.0\n%%%% size,md5,filename\n## x\n3,{MD5},./data/A B.nc\n"),
        ),
    ] {
        let options = ListingOptions::new();
        let listing =
            Listing::from_reader(std::io::Cursor::new(text.clone().into_bytes()), name, &options);
        let granule = listing.unwrap().files().unwrap().next().unwrap().unwrap();
        assert_eq!(granule.granule_id.as_str(), "data/A B.nc", "{text}");
        let checksums: Vec<String> = granule.content.files()[0]
            .checksums()
            .iter()
            .map(|checksum| format!("{}:{checksum}", checksum.algorithm().as_str()))
            .collect();
        assert_eq!(checksums, [format!("md5:{MD5}")], "{text}");
    }
    // Two characters are those of GNU coreutils: what follows is the path.
    assert_eq!(
        ids("x.md5", &format!("{MD5}  A\n{MD5}   B\n{MD5}  *C\n")),
        Ok(vec![" B".into(), "*C".into(), "A".into()])
    );
    for (name, text) in [
        ("manifest-sha256.txt", "A\nB\n"),
        ("delivery.sha1", "A\nB\n"),
        ("SHA512SUMS", "A\nB\n"),
        ("x.md5", &format!("{MD5}   A\n{MD5}  B\n")),
    ] {
        assert!(ids(name, text).unwrap_err().starts_with("not-a-list"), "{name}");
    }
}

#[test]
fn directories_are_left_out_of_lists_of_paths() {
    let files = || Ok(vec!["sub/A.nc".to_owned()]);
    assert_eq!(ids("list.txt", "sub/\nsub/A.nc\n"), files());
    assert_eq!(ids("list.txt", ".\nsub/A.nc\nsub/\n"), files());
    assert_eq!(ids("list.txt", "sub_$folder$\nsub/A.nc\n"), files());
    all_refused(ErrorKind::Incomplete, &["sub/\nA.nc\n", "a/\nb/\n"]);
    let json = r#"[{"Path":"A","IsDir":false},{"Path":"sub","IsDir":true}]"#;
    all_refused(ErrorKind::Incomplete, &[json]);
}

#[test]
fn tables_are_read_with_a_preamble_without_a_header_and_by_rows() {
    let read = |text: &str, options: ListingOptions| listed("t.txt", text, &options);
    let column = |name: &str| ListingOptions::new().column(name.to_owned());
    let both = || Ok(vec!["A".to_owned(), "B".to_owned()]);
    let comment = |prefix: &str| Some(prefix.to_owned());
    let text = "# x\n# y\nfile,n\nA,1\nB,2\n";
    assert_eq!(read(text, column("file").comment(comment("#"))), both());
    assert_eq!(read(text, column("file").skip_lines(2)), both());
    let text = "##  x\n#file\tn\nA\t1\nB\t2\n";
    assert_eq!(read(text, column("#file").comment(comment("##"))), both());
    assert_eq!(read(text, column("#file").comment(comment("#"))), both());
    assert_eq!(read("P,A\nP,B\n", column("2").no_header(true)), both());
    let only = |filters: &[&str]| filters.iter().map(|it| it.parse().unwrap()).collect::<Vec<_>>();
    let text = "P,A\nS,C\nP,B\n";
    assert_eq!(read(text, column("2").no_header(true).only(only(&["1=P"]))), both());
    assert_eq!(read("id,x\nA,1\nid,x\nB,2\n", ListingOptions::new()), both());
    let text = "id,Status\nA,ok\nC,error\nB,fine\n";
    assert!(read(text, ListingOptions::new()).unwrap_err().starts_with("not-a-list"));
    assert_eq!(read(text, ListingOptions::new().only(only(&["Status=ok", "Status=fine"]))), both());
    assert_eq!(read(text, ListingOptions::new().only(only(&["Status=*"]))).unwrap().len(), 3);
    let text = "{\"id\":\"A\",\"s\":\"ok\",\"n\":1}\n{\"id\":\"C\",\"s\":null,\"n\":1}\n{\"id\":\"B\",\"s\":\"fine\",\"n\":1}\n";
    assert_eq!(read(text, ListingOptions::new().only(only(&["s=ok", "s=fine", "n=1"]))), both());
    assert_eq!(read(text, ListingOptions::new().only(only(&["s=*"]))).unwrap().len(), 3);
    assert!(read(text, ListingOptions::new().only(only(&["S=ok"]))).unwrap_err().contains("at S"));
    for text in [
        "id,collectionId\nA,X\nB,Y\n",
        "id,collection\nA,X\nB,Y\n",
        "id\tcollection_id\nA\tX\nB\tY\n",
    ] {
        assert!(read(text, ListingOptions::new()).unwrap_err().starts_with("not-a-list"), "{text}");
    }
    let files = column("run")
        .size_column("s".to_owned())
        .checksum_column("m".to_owned())
        .path_column("p".to_owned())
        .split(';');
    let md5 = "900150983cd24fb0d6963f7d28e17f72;d41d8cd98f00b204e9800998ecf8427e";
    assert_eq!(
        read(&format!("run\ts\tm\tp\nA\t3;0\t{md5}\tx/1;x/2\nB\t\t\t\n"), files.clone()),
        both()
    );
    let uneven = read(&format!("run\ts\tm\tp\nA\t3\t{md5}\tx/1;x/2\n"), files).unwrap_err();
    assert!(uneven.contains("must have the same number"), "{uneven}");
}

#[test]
fn a_response_as_long_as_a_page_needs_its_total() {
    let items: Vec<String> = (0..10).map(|it| format!(r#"{{"title":"G{it}"}}"#)).collect();
    let page = format!(r#"{{"feed":{{"entry":[{}]}}}}"#, items.join(","));
    all_refused(ErrorKind::Incomplete, &[&page]);
    let of = |total| listed("p.json", &page, &ListingOptions::new().total(total));
    assert_eq!(of(10).unwrap().len(), 10);
    assert!(of(11).unwrap_err().starts_with("incomplete"));
    let rows: String = (0..10).map(|it| format!("G{it},x\n")).collect();
    all_refused(ErrorKind::Incomplete, &[&format!("Granule UR,Producer Granule ID\n{rows}")]);
}

#[test]
fn a_document_is_refused_by_what_it_is() {
    for (text, what) in [
        (r#"{"id":"x","files":[{"key":"A"}]}"#, "one record with files"),
        ("{\n \"id\": \"x\",\n \"files\": [{\"key\": \"A\"}]\n}", "one record with files"),
        (
            r#"{"digestAlgorithm":"sha512","id":"x","manifest":{"aa":["A"]},"versions":{}}"#,
            "an OCFL object",
        ),
        (
            r#"{"type":"Collection","id":"x","stac_version":"1.0.0","links":[]}"#,
            "a STAC collection",
        ),
        (r#"{"id":"x","results":[{"a":1}]}"#, "one document with lists"),
    ] {
        let refused = ids("x.json", text).unwrap_err();
        assert!(refused.starts_with("not-a-list") && refused.contains(what), "{refused}");
    }
    assert_eq!(ids("x.ndjson", r#"{"id":"A"}"#), Ok(vec!["A".to_owned()]));
    let item = |id: &str| {
        format!(r#"{{"type":"Feature","stac_version":"1.0.0","id":"{id}","assets":{{}}}}"#)
    };
    let items = format!("{}\n{}\n", item("A"), item("B"));
    assert_eq!(ids("x.ndjson", &items), Ok(vec!["A".to_owned(), "B".to_owned()]));
    let objects = r#"{"Contents":[{"Key":"A","Size":3,"ETag":"\"x\""},{"Key":"sub/","Size":0}]}"#;
    assert_eq!(ids("x.json", objects), Ok(vec!["A".to_owned()]));
    let cut = objects.replace("]}", "],\"IsTruncated\":true}");
    all_refused(ErrorKind::Incomplete, &[&cut]);
    assert!(listed("x", objects, &ListingOptions::new().format(InputFormat::S3Objects)).is_ok());
}

#[test]
fn other_compressions_are_named() {
    for (bytes, what) in [
        (&b"\xfd7zXZ\0\0\x04"[..], "xz"),
        (b"BZh91AY&SY!E", "bzip2"),
        (b"\x28\xb5\x2f\xfd\x04", "zstd"),
        (b"PK\x03\x04\x14", "zip"),
    ] {
        let read = Listing::from_reader(bytes, "list", &ListingOptions::new());
        let error = read.unwrap_err();
        assert!(error.to_string().contains(&format!("compressed with {what},")), "{error}");
        assert!(error.hint().unwrap().contains("unpack it: `"), "{error}");
    }
}
