//! Media types by the ending of a name.

/// Endings and what they mean, sorted by ending.
const TYPES: [(&str, &str); 56] = [
    ("aac", "audio/aac"),
    ("atom", "application/atom+xml"),
    ("avif", "image/avif"),
    ("bin", "application/octet-stream"),
    ("bmp", "image/bmp"),
    ("bz2", "application/x-bzip2"),
    ("css", "text/css; charset=utf-8"),
    ("csv", "text/csv; charset=utf-8"),
    ("doc", "application/msword"),
    ("eot", "application/vnd.ms-fontobject"),
    ("epub", "application/epub+zip"),
    ("flac", "audio/flac"),
    ("gif", "image/gif"),
    ("gz", "application/gzip"),
    ("htm", "text/html; charset=utf-8"),
    ("html", "text/html; charset=utf-8"),
    ("ico", "image/x-icon"),
    ("ics", "text/calendar; charset=utf-8"),
    ("jar", "application/java-archive"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript; charset=utf-8"),
    ("json", "application/json"),
    ("jxl", "image/jxl"),
    ("log", "text/plain; charset=utf-8"),
    ("m4a", "audio/mp4"),
    ("m4v", "video/mp4"),
    ("md", "text/markdown; charset=utf-8"),
    ("mjs", "text/javascript; charset=utf-8"),
    ("mov", "video/quicktime"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("mpeg", "video/mpeg"),
    ("ogg", "audio/ogg"),
    ("otf", "font/otf"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("ps", "application/postscript"),
    ("rss", "application/rss+xml"),
    ("rtf", "application/rtf"),
    ("svg", "image/svg+xml"),
    ("tar", "application/x-tar"),
    ("tif", "image/tiff"),
    ("tiff", "image/tiff"),
    ("ttf", "font/ttf"),
    ("txt", "text/plain; charset=utf-8"),
    ("wasm", "application/wasm"),
    ("wav", "audio/wav"),
    ("webm", "video/webm"),
    ("webmanifest", "application/manifest+json"),
    ("webp", "image/webp"),
    ("woff", "font/woff"),
    ("woff2", "font/woff2"),
    ("xhtml", "application/xhtml+xml"),
    ("xml", "application/xml"),
    ("zip", "application/zip"),
];

/// What a file of that name is, without looking at it.
pub(crate) fn media_type(path: &[u8]) -> &'static str {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    let ending = memchr::memrchr(b'.', name).map_or(b"".as_slice(), |dot| &name[dot + 1..]);
    let ending = ending.to_ascii_lowercase();
    TYPES
        .binary_search_by(|(known, _)| known.as_bytes().cmp(ending.as_slice()))
        .map_or("application/octet-stream", |at| TYPES[at].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_types() {
        assert!(TYPES.is_sorted(), "a search needs order");
        assert_eq!(media_type(b"a/b.html"), "text/html; charset=utf-8");
        assert_eq!(media_type(b"b.PNG"), "image/png");
        assert_eq!(media_type(b"a.tar.gz"), "application/gzip");
        assert_eq!(media_type(b"a.html/b"), "application/octet-stream");
        assert_eq!(media_type(b"html"), "application/octet-stream");
        assert_eq!(media_type(b""), "application/octet-stream");
    }
}
