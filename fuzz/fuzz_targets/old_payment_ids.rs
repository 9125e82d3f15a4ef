#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| properties::old_payment_ids(bytes));
