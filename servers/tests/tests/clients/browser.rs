//! Headless Chromium. It can reach the rung and no other host.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use crate::process::run;
use crate::{each_rung, url};

/// Where the four coloured rungs of the picture are in the window, and their colours. The page has a margin of 8 pixels.
const RUNGS: [((usize, usize), [u8; 3]); 4] = [
    ((8 + 160, 8 + 48), [0xd5, 0x5e, 0x00]),
    ((8 + 160, 8 + 108), [0x00, 0x9e, 0x73]),
    ((8 + 160, 8 + 172), [0xe6, 0x9f, 0x00]),
    ((8 + 160, 8 + 236), [0x00, 0x72, 0xb2]),
];

#[test]
fn chromium_shows_the_picture() {
    each_rung(&[], |server, _| {
        let folder = tempfile::tempdir().unwrap();
        let screenshot = folder.path().join("screenshot.png");
        let args = [
            "--headless".to_owned(),
            // Chromium's own sandbox does not run as root, as in a container.
            "--no-sandbox".into(),
            "--disable-dev-shm-usage".into(),
            "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1".into(),
            "--window-size=400,500".into(),
            format!("--user-data-dir={}", folder.path().display()),
            format!("--screenshot={}", screenshot.display()),
            url(&server, "/"),
        ];
        let said = run("chromium", "chromium", args);
        let pixel = pixels(&screenshot);
        for (place, colour) in RUNGS {
            assert_eq!(pixel(place), colour, "at {place:?}\n{}", said.stderr);
        }
    });
}

/// The colour of each pixel of a PNG.
fn pixels(file: &Path) -> impl Fn((usize, usize)) -> [u8; 3] {
    let file = BufReader::new(File::open(file).unwrap());
    let mut reader = png::Decoder::new(file).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut bytes).unwrap();
    let (line, samples) = (info.line_size, info.color_type.samples());
    move |(x, y)| {
        let at = y * line + x * samples;
        bytes[at..at + 3].try_into().unwrap()
    }
}
