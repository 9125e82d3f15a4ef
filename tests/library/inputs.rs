//! Files that are not what they seem: each kind is read correctly or rejected, in several spellings.

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

/// Asserts that each text is rejected with this kind of error.
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
    // Only `find` prints a directory before its contents. Elsewhere, a file `a` may exist beside `a/c`.
    let other = listing("sub\nsub/A\n");
    let error = other.refuse_directories().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotAList);
    assert!(error.to_string().contains("\"sub\" is a directory of \"sub/A\""), "{error}");
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
            // Checksums in an unsupported order, and lists of addresses to fetch.
            "A.nc 900150983cd24fb0d6963f7d28e17f72\nB.nc d41d8cd98f00b204e9800998ecf8427e\n",
            "https://x.example.org/A.nc 3 data/A.nc\n",
            "https://x.example.org/A.nc - data/A.nc\n",
        ],
    );
}

#[test]
fn other_spellings_of_what_is_no_list_are_refused_as_well() {
    all_refused(
        ErrorKind::NotAList,
        &[
            // Output of other tools with names, sizes and times.
            ".rw-r--r-- 1.2k foo  2 Jan 03:04 A.nc\n",
            "A.nc    1234\nB.nc    99\n",
            "A.nc 1234\nB.nc 99\n",
            "sub/A 1234 1704164645\nsub/B 99 1704164645\n",
            "A.nc 2024-01-02\nB.nc 2024-01-03\n",
            "2024-01-02T03:04:05Z A.nc\n2024-01-03T03:04:05Z B.nc\n",
            "2024-01-02 03:04 A\n2024-01-03 03:04 B\n",
            "1704164645.0000000000 1234 ./A.nc\n1704164646.0000000000 1234 ./B.nc\n",
            "A.nc|1234|2024-01-02\nB.nc|99|2024-01-02\n",
            "FOO   BAR\nBAR   FOO\n",
            ".\n├── A.nc\n└── sub\n    └── B.nc\n\n1 directory, 2 files\n",
            "sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0= A.nc\n",
            // Commands, and their output.
            "wget https://x.example.org/A.nc\nwget https://x.example.org/B.nc\n",
            "rm -f A.nc\nrm -f B.nc\n",
            "upload: ./A.nc to s3://b/A.nc\nupload: ./B.nc to s3://b/B.nc\n",
            "'A.nc' -> 'x/A.nc'\n'B.nc' -> 'x/B.nc'\n",
            ">f+++++++++ A.nc\n>f+++++++++ B.nc\n",
            // Comments and quotes.
            "! list\nA.nc\n",
            "REM list\nA.nc\n",
            "-- list\nA.nc\n",
            "--- a\n+++ b\n@@ -1 +1 @@\n-A.nc\n+B.nc\n",
            "A.nc\n# end\n",
            "['A.nc',\n 'B.nc']\n",
            // Secrets.
            "https://x.example.org/A.nc?edl_token=xyz\n",
            "https://user:secret@x.example.org/A.nc\n",
            // Messages and counts.
            "A.nc\nFatal error: Unable to locate credentials\n",
            "A.nc\nUnable to locate credentials\n",
            "CommandException: One or more URLs matched no objects.\nA.nc\n",
            "A.nc\nSegmentation fault (core dumped)\n",
            "A.nc\nB.nc\n2 files\n",
            "A.nc\n(2 rows)\n",
            // Several ids.
            "A_1.nc B_2.nc\nC_3.nc D_4.nc\n",
            "G1 G2 G3 G4\n",
            // Text and data.
            "This product has the daily mean.\nPlease cite it as described.\nContact: foo@example.org\n",
            "GROUP = FOO\n  A = 3\nEND_GROUP = FOO\nEND\n",
            "name: foo\nversion: 1\n",
            "SIMPLE  =                    T / conforms to FITS standard\n",
            "1964 001  0.123  4.5 NaN\n1964 002  0.124  4.6 NaN\n",
        ],
    );
    let dump = "netcdf foo {\ndimensions:\n\tlat = 10 ;\n}\n";
    for (name, text) in [("a.nc", dump), ("b.NC4", "A\n"), ("x/c.tif", "A\nB\n")] {
        let refused = ids(name, text).unwrap_err();
        assert!(refused.contains("has data, not a list"), "{refused}");
    }
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
        "100%.nc",
        "year=2024/month=01/A.parquet",
        "doi:10.5067/ABC",
        "urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
        "Ärger.nc",
        "日本語.nc",
        "A (copy).nc",
        "my file.nc",
        "data/total 12.nc",
        "Permission denied.pdf",
        "Sample 12",
        "MOD 021KM 2024 001.hdf",
        "https://x.example.org/get?file=A.nc&format=nc",
    ] {
        assert_eq!(ids("list.txt", &format!("{text}\n")), Ok(vec![text.to_owned()]));
    }
    for texts in [
        &["FOO 001", "FOO 002"][..],
        &["a;b.nc", "c.nc"],
        &["total.nc", "error.log"],
        &["A B", "C", "D", "E"],
        &["2024-01-02 report A.nc", "2024-01-03 report A.nc"],
        &["12345", "67890"],
    ] {
        let mut list: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        list.sort();
        assert_eq!(ids("list.txt", &texts.join("\n")), Ok(list));
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
    // GNU coreutils writes two characters before the path. All others belong to the path.
    assert_eq!(
        ids("x.md5", &format!("{MD5}  A\n{MD5}  B  C\n{MD5}  *C\n")),
        Ok(vec!["*C".into(), "A".into(), "B  C".into()])
    );
    let third = ids("x.md5", &format!("{MD5}  A\n{MD5}   B\n")).unwrap_err();
    assert!(third.contains("\" B\" begins or ends with a blank"), "{third}");
    for (name, text) in [
        ("manifest-sha256.txt", "A\nB\n"),
        ("delivery.sha1", "A\nB\n"),
        ("SHA512SUMS", "A\nB\n"),
        ("x.md5", &format!("{MD5}   A\n{MD5}  B\n")),
        // Checksums of another algorithm than the file name says.
        ("x.sha256", &format!("{MD5}  A\n")),
        ("x.md5", &format!("{MD5}:A\n")),
        ("list.txt", &format!("A.nc , {MD5}\n")),
        ("signed.txt", &format!("-----BEGIN PGP SIGNED MESSAGE-----\n\n{MD5}  A\n")),
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
    let sums =
        "900150983cd24fb0d6963f7d28e17f72  sub/\n900150983cd24fb0d6963f7d28e17f72  sub/A.nc\n";
    assert_eq!(ids("list.txt", sums), files());
    assert_eq!(ids("list.txt", "./sub/\n./sub/A.nc\n"), Ok(vec!["./sub/A.nc".to_owned()]));
    assert_eq!(ids("list.txt", "s3://b/x/\ns3://b/x/A\n"), Ok(vec!["s3://b/x/A".to_owned()]));
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
        "id,IsDeleted\nA,true\nB,false\n",
        "id,publication_state\nA,public\nB,private\n",
        "id,retracted\nA,\nB,true\n",
        "id,Processing_Status\nA,1\nB,2\n",
        "id,entry_title\nA,X\nB,Y\n",
        "id,collectionId\nA,X\nB,Y\n",
        "id,collection\nA,X\nB,Y\n",
        "id\tcollection_id\nA\tX\nB\tY\n",
    ] {
        assert!(read(text, ListingOptions::new()).unwrap_err().starts_with("not-a-list"), "{text}");
    }
    // If each row has its own title, it is the title of the granule, not of a collection.
    let rows: String = (0..11).map(|row| format!("G{row},title {row}\n")).collect();
    let titles = read(&format!("id,EntryTitle\n{rows}"), ListingOptions::new());
    assert_eq!(titles.unwrap().len(), 11);
    assert_eq!(read("id,latest\nA,true\nB,true\n", ListingOptions::new()), both());
    assert_eq!(read("id,QA flag\nA,1\nB,2\n", ListingOptions::new()), both());
    assert_eq!(read("sep=,\nid,x\nA,1\nB,2\n", ListingOptions::new().skip_lines(1)), both());
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
    let page = |beside: &str| {
        format!(r#"{{"type":"FeatureCollection",{beside}"features":[{{"id":"A"}},{{"id":"B"}}]}}"#)
    };
    for beside in [
        r#""meta":{"found":9,"returned":2},"#,
        r#""page":1,"pages":5,"#,
        r#""page":{"totalPages":5,"number":0},"#,
        r#""pagination":{"next_cursor":"x"},"#,
        r#""properties":{"exceededTransferLimit":true},"#,
    ] {
        all_refused(ErrorKind::Incomplete, &[&page(beside)]);
    }
    for beside in [r#""page":1,"pages":1,"#, r#""context":{"limit":2,"matched":null},"#] {
        assert_eq!(ids("p.json", &page(beside)).unwrap().len(), 2, "{beside}");
    }
}

#[test]
fn a_refusal_names_the_option_that_reads_the_file() {
    let hint = |text: &str| {
        let text = std::io::Cursor::new(text.as_bytes().to_vec());
        let refused = Listing::from_reader(text, "list.txt", &ListingOptions::new()).unwrap_err();
        refused.hint().unwrap().to_owned()
    };
    for (text, option) in [
        ("## x\nA\n", "--comment '##' "),
        ("// x\nA\n", "--comment '//' "),
        ("REM x\nA\n", "--comment REM "),
        ("\"key\"\n\"A\"\n", "--column key "),
        ("id,status\nA,failed\nB,completed\nC,completed\n", "--only status=completed "),
        ("id,collection\nA,X 1\nB,Y\n", "--only 'collection=X 1' "),
        (
            r#"{"type":"FeatureCollection","features":[{"id":"A","collection":"x"},{"id":"B","collection":"y"}]}"#,
            "--only collection=x ",
        ),
    ] {
        assert!(hint(text).contains(option), "{}", hint(text));
    }
}

#[test]
fn of_many_values_three_are_named() {
    let rows: String = (0..9).map(|row| format!("G{row},{}{row}\n", "c".repeat(50))).collect();
    let refused = ids("t.csv", &format!("id,collection\n{rows}")).unwrap_err();
    assert!(refused.ends_with(" and 6 more") && refused.len() < 300, "{refused}");
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
    for (text, what) in [
        (r#"{"type":"Catalog","id":"x","stac_version":"1.0.0","links":[]}"#, "a STAC catalogue"),
        (r#"{"@context":"x","@graph":[{"@type":"File","@id":"A"}]}"#, "a crate of linked data"),
        (r#"{"data":[{"id":"A"}]}"#, "one document with lists"),
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
