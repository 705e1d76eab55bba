"""Pictures are served without what a camera wrote into them, scaled where they are large, and look the same."""

import io
import os
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import ExifTags, GifImagePlugin, Image, PngImagePlugin

from common.incoming import limits
from judgments.datasets.picture_checks import PictureProblem, picture_format
from judgments.datasets.picture_metadata import strip_metadata
from judgments.datasets.scaling import scale_picture, scaled_path
from tests.refusals import refuses

SECRET = b"taken at home"


def picture(form: str) -> bytes:
    """A picture with a position, a comment and, in a JPEG, another side up."""
    made = Image.effect_noise((60, 40), 90).convert("P" if form == "GIF" else "RGB")
    exif = Image.Exif()
    exif[ExifTags.Base.ImageDescription] = SECRET.decode()
    exif[ExifTags.Base.Orientation] = 6
    exif.get_ifd(ExifTags.IFD.GPSInfo)[ExifTags.GPS.GPSLatitude] = (48.0, 8.0, 0.0)
    told = PngImagePlugin.PngInfo()
    told.add_text("Comment", SECRET.decode())
    options = {
        "JPEG": {"exif": exif, "comment": SECRET, "icc_profile": b"profile of colours", "progressive": True},
        "PNG": {"exif": exif, "pnginfo": told},
        "WEBP": {"exif": exif, "xmp": SECRET, "lossless": True},
        "GIF": {"comment": SECRET, "save_all": True, "append_images": [made.rotate(180)], "loop": 0},
    }
    stream = io.BytesIO()
    made.save(stream, form, **options[form])
    return stream.getvalue()


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "GIF"])
def test_nothing_but_the_picture_is_left(form: str) -> None:
    given = picture(form)
    assert SECRET in given
    bare = strip_metadata(given)
    assert SECRET not in bare
    before, after = Image.open(io.BytesIO(given)), Image.open(io.BytesIO(bare))
    assert (after.format, after.size) == (before.format, before.size)
    assert after.convert("RGB").tobytes() == before.convert("RGB").tobytes()
    side = {ExifTags.Base.Orientation: 6} if form == "JPEG" else {}
    assert dict(after.getexif()) == side  # a photograph stays upright
    assert after.getexif().get_ifd(ExifTags.IFD.GPSInfo) == {}
    if form == "JPEG":
        assert after.info["icc_profile"] == b"profile of colours"
    if isinstance(after, GifImagePlugin.GifImageFile):
        assert (after.n_frames, after.info["loop"]) == (2, 0)
    assert strip_metadata(bare) == bare


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "GIF"])
def test_what_stands_behind_a_picture_is_left_out(form: str) -> None:
    one = picture(form)
    for more in (one, SECRET, b"VP8 \x0d\x00\x00\x00" + SECRET):
        assert strip_metadata(one + more) == strip_metadata(one)


def test_a_part_of_the_file_that_is_no_part_of_the_picture_is_left_out() -> None:
    """A chunk of an unknown name, the manifest of provenance, and a thumbnail."""
    one = picture("WEBP")
    chunk = b"NOTE" + len(SECRET + b" ").to_bytes(4, "little") + SECRET + b" "
    told = b"RIFF" + (len(one) - 8 + len(chunk)).to_bytes(4, "little") + one[8:] + chunk
    assert strip_metadata(told) == strip_metadata(one)
    one = picture("PNG")
    for name in (b"caBX", b"zxIf", b"prVW"):
        chunk = len(SECRET).to_bytes(4, "big") + name + SECRET + zlib.crc32(name + SECRET).to_bytes(4, "big")
        assert strip_metadata(one[:33] + chunk + one[33:]) == strip_metadata(one)
    one = picture("JPEG")
    thumbnail = b"JFXX\x00\x10" + SECRET
    segment = b"\xff\xe0" + (len(thumbnail) + 2).to_bytes(2, "big") + thumbnail
    assert strip_metadata(one[:2] + segment + one[2:]) == strip_metadata(one)


def test_an_animated_png_stays_animated() -> None:
    frames = [Image.effect_noise((20, 10), 90) for _ in range(3)]
    stream = io.BytesIO()
    frames[0].save(stream, "PNG", save_all=True, append_images=frames[1:])
    after = Image.open(io.BytesIO(strip_metadata(stream.getvalue())))
    assert isinstance(after, PngImagePlugin.PngImageFile)
    assert after.n_frames == 3


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "GIF"])
def test_a_picture_that_is_cut_off_anywhere_is_served_up_to_there(form: str) -> None:
    given = picture(form)
    for length in range(0, len(given), 61):
        assert SECRET not in strip_metadata(given[:length])


def test_a_picture_of_too_many_bytes_is_refused(tmp_path: Path) -> None:
    (tmp_path / "large.png").write_bytes(picture("PNG"))
    os.truncate(tmp_path / "large.png", limits().picture_bytes + 1)
    with refuses(PictureProblem, "bytes", "52,428,800"):
        picture_format(tmp_path / "large.png")


def test_a_picture_of_too_many_pixels_is_refused(tmp_path: Path) -> None:
    header = bytearray(picture("PNG"))
    header[16:24] = (9_000).to_bytes(4, "big") * 2
    crc = zlib.crc32(header[12:29]).to_bytes(4, "big")
    header[29:33] = crc
    (tmp_path / "large.png").write_bytes(header)
    with refuses(PictureProblem, "large.png", "64,000,000"):
        picture_format(tmp_path / "large.png")


def scaled(folder: Path, name: str, image: Image.Image, form: str, **options: Any) -> dict[str, Any]:
    path = folder / "pictures" / name
    path.parent.mkdir(exist_ok=True)
    image.save(path, form, **options)
    before = path.read_bytes()
    sizes = scale_picture(f"pictures/{name}")
    assert path.read_bytes() == before  # the imported file stays as it is
    return sizes


def photograph(size: tuple[int, int] = (4000, 3000)) -> Image.Image:
    """Red on the left, blue on the right, with noise."""
    halves = Image.new("RGB", size, "red")
    halves.paste("blue", (size[0] // 2, 0, *size))
    return Image.blend(halves, Image.effect_noise(size, 60).convert("RGB"), 0.2)


def corners(picture: str, width: int) -> list[str]:
    """The strongest colour of the upper corners of a scaled picture."""
    image = Image.open(scaled_path(picture, width)).convert("RGB")
    bands = [np.asarray(image)[9, x] for x in (9, image.width - 9)]
    return ["RGB"[int(pixel.argmax())] for pixel in bands]


def test_a_photograph_of_a_phone_is_scaled_upright_and_without_where_it_was_taken(
    tmp_path: Path, settings: Any
) -> None:
    settings.MEDIA_ROOT = tmp_path
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = 6  # to be turned by a quarter: what is left comes to the top
    exif[ExifTags.Base.ImageDescription] = SECRET.decode()
    sizes = scaled(tmp_path, "phone.jpg", photograph(), "JPEG", exif=exif, xmp=SECRET, icc_profile=b"colours")
    assert (sizes["width"], sizes["height"], sizes["widths"]) == (3000, 4000, [432, 960])
    for width, size, most in ((432, (432, 576), 60_000), (960, (960, 1280), 180_000)):
        path = scaled_path("pictures/phone.jpg", width)
        with Image.open(path) as image:
            assert (image.format, image.size, image.info["icc_profile"]) == ("WEBP", size, b"colours")
        assert corners("pictures/phone.jpg", width) == ["R", "R"]
        assert path.stat().st_size <= most
        assert SECRET not in path.read_bytes()


def test_colours_for_print_and_transparency_are_seen_as_they_were(tmp_path: Path, settings: Any) -> None:
    settings.MEDIA_ROOT = tmp_path
    sizes = scaled(tmp_path, "print.jpg", photograph((2000, 1500)).convert("CMYK"), "JPEG")
    assert sizes["widths"] == [720, 1280]
    assert corners("pictures/print.jpg", 720) == ["R", "B"]
    clear = photograph((900, 600)).convert("RGBA")
    clear.putalpha(Image.linear_gradient("L").resize(clear.size))
    sizes = scaled(tmp_path, "clear.png", clear, "PNG")
    with Image.open(scaled_path("pictures/clear.png", sizes["widths"][0])) as image:
        band = image.getchannel("A")
        assert (band.getpixel((9, 0)), band.getpixel((9, image.height - 1))) == (0, 255)


def test_animations_deep_broken_and_small_pictures_are_left_as_they_are(
    tmp_path: Path, settings: Any
) -> None:
    settings.MEDIA_ROOT = tmp_path
    frames = [photograph((900, 600)).convert("P").rotate(angle) for angle in (0, 180)]
    moving = scaled(tmp_path, "moving.gif", frames[0], "GIF", save_all=True, append_images=frames[1:])
    deep = scaled(tmp_path, "deep.png", photograph((900, 600)).convert("I;16"), "PNG")
    for sizes in (moving, deep):
        assert (sizes["width"], sizes["height"], sizes["widths"]) == (900, 600, [])
    assert scaled(tmp_path, "small.jpg", photograph((320, 240)), "JPEG")["widths"] == []
    photograph((900, 600)).save(tmp_path / "whole.jpg", quality=95)
    whole = (tmp_path / "whole.jpg").read_bytes()
    assert len(whole) > 150_000
    (tmp_path / "pictures" / "half.jpg").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "pictures" / "none.jpg").write_bytes(SECRET)
    for name in ("half.jpg", "none.jpg", "gone.jpg"):
        assert scale_picture(f"pictures/{name}")["widths"] == []
    assert not (tmp_path / "scaled").exists()
