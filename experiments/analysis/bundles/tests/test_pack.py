# SPDX-License-Identifier: GPL-2.0-only
"""A run that is packed is unpacked as it was; one that is changed, unsigned or too large is refused, and nothing is left."""

from __future__ import annotations

import hashlib
import json
import subprocess
import tarfile
from pathlib import Path

import pytest

from experiments.analysis.__main__ import main
from experiments.analysis.bundles import archive, folder, sums
from experiments.analysis.bundles.tests.test_bundles import made, repacked
from experiments.analysis.tests import synthetic
from experiments.commands.experiment import cli

RECORDS = "runs/cross/results.jsonl"
Members = list[tuple[tarfile.TarInfo, bytes]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = synthetic.write(tmp_path_factory.mktemp("pack") / "cross", synthetic.full())
    for log in ("lab.log", "console.log", "console-2.log", "calibrate.log"):
        (made / log).write_text(f"{log}\n")
    return made


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two keys; the first of them may sign."""
    made = tmp_path_factory.mktemp("keys")
    for name in ("ours", "other"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", made / name], check=True)
    (made / "allowed").write_text(f"lab@example.org {(made / 'ours.pub').read_text()}")
    return made


@pytest.fixture(scope="module")
def packed(run: Path) -> Path:
    assert main(["pack", str(run), str(run.parent / "cross.tar.gz")]) == 0
    return run.parent / "cross.tar.gz"


@pytest.fixture(scope="module")
def signed(run: Path, keys: Path) -> Path:
    path = run.parent / "signed.tar.gz"
    assert main(["pack", str(run), str(path), "--sign", str(keys / "ours")]) == 0
    return path


def refused(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], *options: str | Path, status: int = 2) -> str:
    """One line, and neither the folder nor a part of it."""
    before = sorted(tmp_path.iterdir())
    assert main(["unpack", str(path), str(tmp_path / "out"), *map(str, options)]) == status
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1 and said.err.startswith("numaplace experiment unpack: ")
    assert sorted(tmp_path.iterdir()) == before
    return said.err


def test_a_run_is_unpacked_as_it_was(run: Path, packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["unpack", str(packed), str(tmp_path / "new/out")]) == 0
    told, where = capsys.readouterr().out.splitlines()
    assert told.startswith(f"{packed}: ") and told.endswith(" files as they were packed; not signed")
    assert where == str(tmp_path / "new/out")
    of_run = {path.name: path.read_bytes() for path in (tmp_path / "new/out/runs/cross").iterdir()}
    assert of_run == {path.name: path.read_bytes() for path in run.iterdir()} and len(of_run) == 6
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["out"]
    about = json.loads((tmp_path / "new/out/about.json").read_text())
    assert about["format"] == 2 and about["tool"]["programs"] and about["packages"] and about["python"]


def test_sha256sum_checks_what_is_unpacked(packed: Path, tmp_path: Path) -> None:
    assert main(["unpack", str(packed), str(tmp_path / "out")]) == 0
    check = ["sha256sum", "--check", "--strict", "--quiet", "MANIFEST"]
    assert subprocess.run(check, cwd=tmp_path / "out").returncode == 0
    listed = sums.read((tmp_path / "out/MANIFEST").read_bytes())
    files = {str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert files == {*listed, "MANIFEST"}
    (tmp_path / "out" / RECORDS).write_text("{}\n")
    assert subprocess.run(check, cwd=tmp_path / "out", capture_output=True).returncode == 1


def test_a_packed_run_is_judged_again(packed: Path) -> None:
    assert main(["judge-again", str(packed)]) == 0


def test_the_folder_has_the_name_of_the_file(packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                             capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["unpack", str(packed)]) == 0 and (tmp_path / "cross" / RECORDS).exists()
    assert folder.default(Path("a/b.tgz")) == Path("b")
    assert main(["unpack", "cross.zip"]) == 2 and "give a FOLDER too" in capsys.readouterr().err


def test_what_is_there_is_not_overwritten(packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/mine").write_text("mine")
    assert f"{tmp_path / 'out'}: there already" in refused(packed, tmp_path, capsys)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine"]
    (tmp_path / "out/mine").unlink()
    assert main(["unpack", str(packed), str(tmp_path / "out")]) == 0


def test_an_edited_record_is_named(packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def edit(members: Members) -> None:
        at = next(i for i, (member, _) in enumerate(members) if member.name == RECORDS)
        members[at] = (members[at][0], members[at][1].replace(b"800", b"900", 1))

    path = made(tmp_path / "x.tar.gz", edit, packed)
    assert f"{path}: {RECORDS}: not as it was packed" in refused(path, tmp_path, capsys)


def test_a_file_too_many_or_missing_is_named(packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def without(members: Members) -> None:
        members[:] = [one for one in members if one[0].name != "runs/cross/console-2.log"]

    path = made(tmp_path / "x.tar.gz", lambda members: members.append((tarfile.TarInfo("runs/new"), b"x")), packed)
    assert "runs/new: not in MANIFEST" in refused(path, tmp_path, capsys)
    assert "runs/cross/console-2.log: missing" in refused(made(path, without, packed), tmp_path, capsys)


@pytest.mark.parametrize("name", ["../outside", "/tmp/outside", "runs/../../outside", "runs\\outside"])
def test_a_name_that_leads_out_is_refused(packed: Path, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = repacked(packed, tmp_path / "x.tar.gz", {name: b"outside"})
    assert f"{name!r}: no plain file below" in refused(path, tmp_path, capsys)


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
def test_a_link_is_refused(packed: Path, kind: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    link = tarfile.TarInfo("runs/link")
    link.type, link.linkname = kind, "/etc/passwd"
    path = made(tmp_path / "x.tar.gz", lambda members: members.insert(1, (link, b"")), packed)
    assert "'runs/link': no plain file below" in refused(path, tmp_path, capsys)


def test_names_that_no_folder_can_have_leave_nothing(packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = repacked(packed, tmp_path / "x.tar.gz", {"runs/a": b"1", "runs/a/b": b"2"})
    assert f"{tmp_path / 'out'}: " in refused(path, tmp_path, capsys)


def test_what_unpacks_to_too_much_is_refused(packed: Path, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                             capsys: pytest.CaptureFixture[str]) -> None:
    """Zeros take a thousandth of their size in the file. One that is too much alone, or behind the last file."""
    path = repacked(packed, tmp_path / "x.tar.gz", {"runs/zeros": bytes(16 << 20)})
    (tmp_path / "y.tar.gz").write_bytes(archive._gzipped(archive._gunzipped(packed.read_bytes()) + bytes(16 << 20)))
    monkeypatch.setattr(archive, "LIMIT", 8 << 20)
    assert path.stat().st_size < 2 << 20
    assert f"runs/zeros: more than {8 << 20} bytes" in refused(path, tmp_path, capsys)
    assert "behind its last file" in refused(tmp_path / "y.tar.gz", tmp_path, capsys)
    assert main(["unpack", str(packed), str(tmp_path / "fits")]) == 0
    monkeypatch.setattr(archive, "LIMIT", 1 << 16)
    assert main(["pack", str(run), str(tmp_path / "z.tar.gz")]) == 1 and not (tmp_path / "z.tar.gz").exists()
    assert "pack fewer runs" in capsys.readouterr().err
    assert f"{packed}: {packed.stat().st_size} bytes, and a bundle has {1 << 16} at most" in refused(packed, tmp_path, capsys)


def test_a_file_with_holes_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its size is that of the holes, whatever the archive has."""
    with open(tmp_path / "hole", "wb") as hole:
        hole.truncate(1 << 40)
    subprocess.run(["tar", "--sparse", "-czf", "x.tar.gz", "hole"], cwd=tmp_path, check=True)
    (tmp_path / "hole").unlink()
    assert "'hole': no plain file below" in refused(tmp_path / "x.tar.gz", tmp_path, capsys)


def test_a_newer_format_is_refused(packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundle = archive.unpack(packed)
    archive.pack(tmp_path / "x.tar.gz", bundle.about | {"format": 3}, bundle.files)
    assert "about.json: of format 3, and this numaplace reads 1 and 2" in refused(tmp_path / "x.tar.gz", tmp_path, capsys)


def test_the_former_format_is_read(packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its MANIFEST had what about.json and MANIFEST have."""
    def former(members: Members) -> None:
        files = {member.name: data for member, data in members}
        about = json.loads(files.pop("about.json")) | {"format": 1}
        del files["MANIFEST"]
        manifest = about | {"files": {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}}
        members[:] = [(tarfile.TarInfo(name), data)
                      for name, data in ({"MANIFEST": json.dumps(manifest).encode()} | files).items()]

    path = made(tmp_path / "x.tar.gz", former, packed)
    assert main(["unpack", str(path), str(tmp_path / "out")]) == 0 and main(["judge-again", str(path)]) == 0
    assert (tmp_path / "out" / RECORDS).read_bytes() == archive.unpack(packed).files[RECORDS]
    assert not (tmp_path / "out/about.json").exists()


@pytest.mark.parametrize("line", ["0" * 63 + "  a", "0" * 64 + " *a", "no hash", "0" * 64 + "  a\n" + "1" * 64 + "  a"])
def test_a_manifest_of_other_lines_is_none(line: str) -> None:
    assert sums.read(f"{line}\n".encode()) is None and sums.read(b"\xff\n") is None


def test_a_signature_is_verified(signed: Path, keys: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["unpack", str(signed), str(tmp_path / "out"), "--allowed", str(keys / "allowed")]) == 0
    assert "; signed by lab@example.org\n" in capsys.readouterr().out
    assert main(["unpack", str(signed), str(tmp_path / "other")]) == 0
    assert "its signature is not verified" in capsys.readouterr().out
    verify = ["ssh-keygen", "-Y", "verify", "-n", "numaplace", "-I", "lab@example.org", "-f", keys / "allowed", "-s",
              "MANIFEST.sig"]
    manifest = (tmp_path / "out/MANIFEST").read_bytes()
    assert subprocess.run(verify, cwd=tmp_path / "out", input=manifest, capture_output=True).returncode == 0


def test_another_signer_is_refused(signed: Path, keys: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "allowed").write_text(f"other {(keys / 'other.pub').read_text()}")
    said = refused(signed, tmp_path, capsys, "--allowed", tmp_path / "allowed")
    assert "MANIFEST.sig: MANIFEST is not signed by a key in" in said
    assert f"--allowed {tmp_path / 'none'}: no such file" in refused(signed, tmp_path, capsys, "--allowed", tmp_path / "none")


def test_a_signature_is_asked_for(packed: Path, keys: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "MANIFEST.sig: missing" in refused(packed, tmp_path, capsys, "--allowed", keys / "allowed")


def test_hashes_that_are_changed_with_the_records_do_not_have_the_signature(
        signed: Path, keys: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundle = archive.unpack(signed)
    files = bundle.files | {RECORDS: bundle.files[RECORDS].replace(b"800", b"900", 1)}
    archive.pack(tmp_path / "x.tar.gz", bundle.about, files, lambda manifest: bundle.signature)
    said = refused(tmp_path / "x.tar.gz", tmp_path, capsys, "--allowed", keys / "allowed")
    assert "MANIFEST is not signed" in said and "incorrect signature" in said
    assert main(["unpack", str(tmp_path / "x.tar.gz"), str(tmp_path / "out")]) == 0  # every hash is right


def test_a_signature_for_another_use_is_refused(packed: Path, keys: Path, tmp_path: Path,
                                                capsys: pytest.CaptureFixture[str]) -> None:
    bundle = archive.unpack(packed)
    archive.pack(tmp_path / "x.tar.gz", bundle.about, bundle.files, lambda manifest: subprocess.run(
        ["ssh-keygen", "-Y", "sign", "-n", "file", "-f", keys / "ours"], input=manifest, capture_output=True).stdout)
    assert "MANIFEST is not signed" in refused(tmp_path / "x.tar.gz", tmp_path, capsys, "--allowed", keys / "allowed")
    archive.pack(tmp_path / "x.tar.gz", bundle.about, bundle.files, lambda manifest: b"no signature\n")
    assert "MANIFEST is not signed" in refused(tmp_path / "x.tar.gz", tmp_path, capsys, "--allowed", keys / "allowed")


def test_a_key_that_cannot_sign_packs_nothing(run: Path, keys: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for key in (tmp_path / "none", keys / "allowed"):
        assert main(["pack", str(run), str(tmp_path / "x.tar.gz"), "--sign", str(key)]) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1 and f"--sign {key}: " in said and not list(tmp_path.iterdir())


def test_without_ssh_keygen_the_package_is_named(signed: Path, keys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                 capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    said = refused(signed, tmp_path, capsys, "--allowed", keys / "allowed", status=3)
    assert "install the package openssh-client" in said
