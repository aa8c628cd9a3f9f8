//! The size of images and the length of sounds by their bytes, to check limits before an upload.
//!
//! None where a file does not say so; the service then decides.

/// The side lengths of an image, in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PixelSize {
    pub(crate) width: usize,
    pub(crate) height: usize,
}

fn read_u16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn read_u32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// The size of a PNG or JPEG image.
pub(crate) fn image_size(bytes: &[u8]) -> Option<PixelSize> {
    let size = imagesize::blob_size(bytes).ok()?;
    Some(PixelSize { width: size.width, height: size.height })
}

/// The size of a BMP image. Its height is negative if the rows begin at the top.
pub(crate) fn bmp_size(bytes: &[u8]) -> Option<PixelSize> {
    let side = |at: usize| Some(read_u32(bytes, at)?.cast_signed().unsigned_abs() as usize);
    Some(PixelSize { width: side(18)?, height: side(22)? })
}

/// The size of a TGA image.
pub(crate) fn tga_size(bytes: &[u8]) -> Option<PixelSize> {
    let side = |at: usize| Some(usize::from(read_u16(bytes, at)?));
    Some(PixelSize { width: side(12)?, height: side(14)? })
}

/// The length of a WAV sound in seconds: the bytes of its data by the bytes of a second.
pub(crate) fn wav_seconds(bytes: &[u8]) -> Option<f64> {
    let mut at = 12;
    let mut rate = None;
    while let (Some(name), Some(size)) = (bytes.get(at..at + 4), read_u32(bytes, at + 4)) {
        match name {
            b"fmt " => rate = read_u32(bytes, at + 16).filter(|it| *it > 0),
            // A sound that was written to a stream says no size of its own.
            b"data" => {
                let is_streamed = size == u32::MAX;
                let size = if is_streamed { bytes.len() - (at + 8) } else { size as usize };
                return Some(size as f64 / f64::from(rate?));
            }
            _ => {}
        }
        // A chunk of an odd size is followed by a byte that fills it up.
        at += 8 + size as usize + (size as usize & 1);
    }
    None
}

/// The length of a FLAC sound in seconds, from its first block, which says the number of samples.
pub(crate) fn flac_seconds(bytes: &[u8]) -> Option<f64> {
    let info = bytes.get(8..42).filter(|_| matches!(bytes[4], 0 | 0x80))?;
    let packed = u64::from_be_bytes(info.get(10..18)?.try_into().ok()?);
    let (rate, samples) = (packed >> 44, packed & 0xf_ffff_ffff);
    (rate > 0 && samples > 0).then(|| samples as f64 / rate as f64)
}

/// The length of an Ogg sound in seconds: the position of its last page by the samples of a second.
pub(crate) fn ogg_seconds(bytes: &[u8]) -> Option<f64> {
    let segments = usize::from(*bytes.get(26)?);
    let head = bytes.get(27 + segments..)?;
    let rate = if head.starts_with(b"\x01vorbis") {
        read_u32(head, 12)?
    } else if head.starts_with(b"OpusHead") {
        // The positions of Opus are always of this rate.
        48_000
    } else {
        return None;
    };
    let last = memchr::memmem::rfind(bytes, b"OggS")?;
    let position = u64::from_le_bytes(bytes.get(last + 6..last + 14)?.try_into().ok()?);
    // No packet ends on a page with this position.
    (rate > 0 && position != u64::MAX).then(|| position as f64 / f64::from(rate))
}

/// The length of an MP3 sound in seconds: the sum of its frames.
pub(crate) fn mp3_seconds(bytes: &[u8]) -> Option<f64> {
    let mut at = match bytes.get(..10) {
        Some([b'I', b'D', b'3', _, _, _, size @ ..]) => {
            10 + size.iter().fold(0, |sum, it| sum << 7 | usize::from(it & 0x7f))
        }
        _ => 0,
    };
    let mut seconds = 0.0;
    while let Some(frame) = bytes.get(at..at + 4).and_then(read_frame) {
        seconds += f64::from(frame.samples) / f64::from(frame.rate);
        at += frame.bytes;
    }
    (seconds > 0.0).then_some(seconds)
}

/// A frame of MPEG audio, layer III.
struct SoundFrame {
    samples: u32,
    rate: u32,
    bytes: usize,
}

fn read_frame(head: &[u8]) -> Option<SoundFrame> {
    const KILOBITS_1: [usize; 14] = [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];
    const KILOBITS_2: [usize; 14] = [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];
    let [sync, kind, rates, _] = *head.first_chunk::<4>()?;
    if sync != 0xff || kind & 0xe6 != 0xe2 {
        return None;
    }
    let version = kind >> 3 & 3;
    let base: u32 = *[44_100, 48_000, 32_000].get(usize::from(rates >> 2 & 3))?;
    // Half the rate for MPEG 2, a quarter for 2.5.
    let (rate, is_first) = match version {
        3 => (base, true),
        2 => (base / 2, false),
        0 => (base / 4, false),
        _ => return None,
    };
    let (kilobits, samples) = if is_first { (KILOBITS_1, 1_152_u32) } else { (KILOBITS_2, 576) };
    let kilobits = *kilobits.get(usize::from(rates >> 4).checked_sub(1)?)?;
    let padding = usize::from(rates >> 1 & 1);
    let bytes = samples as usize / 8 * kilobits * 1_000 / rate as usize + padding;
    Some(SoundFrame { samples, rate, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_of_bmp_and_tga_is_read() {
        let mut bmp = b"BM".to_vec();
        bmp.resize(18, 0);
        bmp.extend(640_i32.to_le_bytes());
        bmp.extend((-480_i32).to_le_bytes());
        assert_eq!(bmp_size(&bmp), Some(PixelSize { width: 640, height: 480 }));
        let mut tga = vec![0, 0, 2];
        tga.resize(12, 0);
        tga.extend([0x40, 0x1f, 1, 0]);
        assert_eq!(tga_size(&tga), Some(PixelSize { width: 8_000, height: 1 }));
        assert_eq!((bmp_size(b"BM"), tga_size(b""), image_size(b"x")), (None, None, None));
    }

    #[test]
    fn length_of_every_sound_is_read() {
        let mut wav = b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x02\0".to_vec();
        wav.extend(44_100_u32.to_le_bytes());
        wav.extend(176_400_u32.to_le_bytes());
        wav.extend([4, 0, 16, 0]);
        wav.extend(b"LIST\x03\0\0\0abc\0data");
        wav.extend(352_800_u32.to_le_bytes());
        assert_eq!(wav_seconds(&wav), Some(2.0));
        let mut flac = b"fLaC\0\0\0\x22".to_vec();
        flac.extend([0; 10]);
        flac.extend(((48_000_u64 << 44) + 144_000).to_be_bytes());
        flac.extend([0; 16]);
        assert_eq!(flac_seconds(&flac), Some(3.0));
        let page = |position: u64, body: &[u8]| {
            let mut page = b"OggS\0\0".to_vec();
            page.extend(position.to_le_bytes());
            page.extend([0; 12]);
            page.extend([1, body.len() as u8]);
            page.extend(body);
            page
        };
        let opus = [page(0, b"OpusHead\x01\x02"), page(96_000, b"x")].concat();
        assert_eq!(ogg_seconds(&opus), Some(2.0));
        let mut head = b"\x01vorbis\0\0\0\0\x02".to_vec();
        head.extend(22_050_u32.to_le_bytes());
        let vorbis = [page(0, &head), page(22_050, b"x")].concat();
        assert_eq!(ogg_seconds(&vorbis), Some(1.0));
        // MPEG 1, 128 kbit/s, 44.1 kHz, without padding: 417 bytes a frame.
        let mut frame = vec![0xff, 0xfb, 0x90, 0];
        frame.resize(417, 0);
        let mut mp3 = b"ID3\x04\0\0\0\0\0\x05abcde".to_vec();
        mp3.extend(frame.repeat(441));
        let seconds = mp3_seconds(&mp3).unwrap();
        assert!((seconds - 11.52).abs() < 1e-6, "{seconds}");
    }

    #[test]
    fn damaged_sounds_have_no_length() {
        let read = [wav_seconds, flac_seconds, ogg_seconds, mp3_seconds];
        for bytes in ["", "RIFF", "fLaC", "OggS", "ID3", "a text that is no sound at all, but long"]
        {
            for read in read {
                assert_eq!(read(bytes.as_bytes()), None, "{bytes}");
            }
        }
        assert_eq!(wav_seconds(b"RIFF\0\0\0\0WAVEdata\x08\0\0\0"), None);
    }
}
