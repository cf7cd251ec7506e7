# SPDX-License-Identifier: GPL-2.0-only
"""A run that is packed is unpacked as it was; one that is changed, unsigned or too large is refused, and nothing is left."""

import hashlib
import io
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from experiments.analysis import bundle
from experiments.analysis.runs.results import ResultsError
from experiments.analysis.tests import synthetic
from experiments.commands.experiment import cli
from experiments.commands.experiment.cli import main

RECORDS = "runs/cross/results.jsonl"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = synthetic.write(tmp_path_factory.mktemp("pack") / "cross", synthetic.make_full())
    for log in ("lab.log", "console-2.log"):
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
def signed(run: Path, keys: Path) -> Path:
    path = run.parent / "signed.tar.gz"
    assert main(["pack", str(run), str(path), "--sign", str(keys / "ours")]) == 0
    return path


def repacked(path: Path, new: Path, change: Callable[[dict[str, bytes]], None], *more: tarfile.TarInfo) -> Path:
    with tarfile.open(path) as tar:
        files = {member.name: tar.extractfile(member).read() for member in tar}
    change(files)
    with tarfile.open(new, "w:gz") as tar:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
        for member in more:
            tar.addfile(member)
    return new


def refused(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], *options: str | Path, status: int = 2) -> str:
    """One line, and neither the folder nor a part of it."""
    before = sorted(tmp_path.iterdir())
    capsys.readouterr()
    assert main(["unpack", str(path), str(tmp_path / "out"), *map(str, options)]) == status
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1 and said.err.startswith("numaplace experiment unpack: ")
    assert sorted(tmp_path.iterdir()) == before
    return said.err


def test_a_run_is_unpacked_as_it_was(run: Path, signed: Path, keys: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new/out"
    capsys.readouterr()
    assert cli.main(["unpack", str(signed), str(out), "--allowed", str(keys / "allowed")]) == 0
    assert capsys.readouterr().out == f"{signed}: 4 files as they were packed; signed by lab@example.org\n{out}\n"
    assert {path.name: path.read_bytes() for path in (out / "runs/cross").iterdir()} == {
        path.name: path.read_bytes() for path in run.iterdir()}
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["out"]
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=out, check=True)
    verify = ["ssh-keygen", "-Y", "verify", "-n", "numaplace", "-I", "lab@example.org", "-f", keys / "allowed", "-s", "SHA256SUMS.sig"]
    subprocess.run(verify, cwd=out, input=(out / "SHA256SUMS").read_bytes(), check=True, capture_output=True)
    assert main(["unpack", str(signed), str(out)]) == 2 and f"{out}: there already" in capsys.readouterr().err
    for folder, said in (("a" * 300, "File name too long"), (".", "there already")):
        assert main(["unpack", str(signed), folder]) == 2
        assert (line := capsys.readouterr().err).count("\n") == 1 and said in line


def test_the_folder_has_the_name_of_the_file(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                             capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["pack", str(run.parent), "all.tgz"]) == 0 and main(["unpack", "all.tgz"]) == 0
    assert (tmp_path / "all" / RECORDS).exists() and "; not signed\n" in capsys.readouterr().out
    assert main(["unpack", "cross.zip"]) == 2 and "give a FOLDER too" in capsys.readouterr().err


def edit(files: dict[str, bytes]) -> None:
    files[RECORDS] = files[RECORDS].replace(b"800", b"900", 1)


@pytest.mark.parametrize(("change", "said"), [
    (edit, f"{RECORDS}: not as it was packed"),
    (lambda files: files.update({"runs/cross/new": b"x"}), "runs/cross/new: not as it was packed"),
    (lambda files: files.pop("runs/cross/lab.log"), "runs/cross/lab.log: not as it was packed"),
    (lambda files: files.pop("SHA256SUMS"), ": not as it was packed"),
    (lambda files: files.update({"../outside": b"x"}), "'../outside': no plain file"),
    (lambda files: files.update({"/tmp/outside": b"x"}), "'/tmp/outside': no plain file"),
    (lambda files: files.update({"runs/../outside": b"x"}), "'runs/../outside': no plain file"),
    (lambda files: files.update({"runs/cross/..": b"x"}), "'runs/cross/..': no plain file"),
    (lambda files: files.update({"runs/a/b/c": b"x"}), "'runs/a/b/c': no plain file")])
def test_what_was_changed_is_named(signed: Path, change: Callable[[dict[str, bytes]], None], said: str, tmp_path: Path,
                                   capsys: pytest.CaptureFixture[str]) -> None:
    assert said in refused(repacked(signed, tmp_path / "x.tar.gz", change), tmp_path, capsys)


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE])
def test_what_is_no_file_is_refused(signed: Path, kind: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tarfile.TarInfo("runs/cross/link")
    other.type, other.linkname = kind, "/etc/passwd"
    path = repacked(signed, tmp_path / "x.tar.gz", lambda files: None, other)
    assert "'runs/cross/link': no plain file" in refused(path, tmp_path, capsys)


def test_what_unpacks_to_too_much_is_refused(run: Path, signed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                             capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(bundle, "LIMIT", 1 << 12)
    assert f"more than {1 << 12} bytes" in refused(signed, tmp_path, capsys)
    assert main(["pack", str(run), str(tmp_path / "z.tar.gz")]) == 1 and not list(tmp_path.iterdir())
    assert "pack fewer runs" in capsys.readouterr().err


def test_a_broken_file_is_refused(signed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole, path = signed.read_bytes(), tmp_path / "x.tar.gz"
    for broken in (b"", b"text", whole[:len(whole) // 2], whole[:200] + b"\0" * 50 + whole[250:]):
        path.write_bytes(broken)
        assert "cut off, damaged or no bundle" in refused(path, tmp_path, capsys)
    assert f"{tmp_path / 'none.tar.gz'}: No such file" in refused(tmp_path / "none.tar.gz", tmp_path, capsys)


def test_only_an_allowed_signature_is_taken(run: Path, signed: Path, keys: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of another signer, for another use, of other sums, and none."""
    (tmp_path / "allowed").write_text(f"other {(keys / 'other.pub').read_text()}")
    assert "SHA256SUMS is not signed by a key in" in refused(signed, tmp_path, capsys, "--allowed", tmp_path / "allowed")
    assert "no such file" in refused(signed, tmp_path, capsys, "--allowed", tmp_path / "none")
    other_use = subprocess.run(["ssh-keygen", "-Y", "sign", "-n", "file", "-f", keys / "ours"], input=b"x", capture_output=True).stdout
    for change in (lambda files: files.update({"SHA256SUMS.sig": other_use}), resummed):
        path = repacked(signed, tmp_path / "x.tar.gz", change)
        assert "SHA256SUMS is not signed by a key in" in refused(path, tmp_path, capsys, "--allowed", keys / "allowed")
    path = repacked(signed, tmp_path / "x.tar.gz", lambda files: files.pop("SHA256SUMS.sig"))
    assert "SHA256SUMS.sig: missing" in refused(path, tmp_path, capsys, "--allowed", keys / "allowed")


def resummed(files: dict[str, bytes]) -> None:
    """Another record with the right sum."""
    before = hashlib.sha256(files[RECORDS]).hexdigest()
    edit(files)
    files["SHA256SUMS"] = files["SHA256SUMS"].replace(before.encode(), hashlib.sha256(files[RECORDS]).hexdigest().encode())


def test_a_run_whose_name_is_no_utf_8_is_not_packed(tmp_path: Path) -> None:
    named = synthetic.write(tmp_path / "cr\udcffss", synthetic.make_full())
    with pytest.raises(ResultsError, match="no name for a bundle: rename it, in UTF-8"):
        bundle.pack_runs(named, tmp_path / "b.tgz")
    assert list(tmp_path.iterdir()) == [named]


def test_a_key_that_cannot_sign_packs_nothing(run: Path, keys: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for key in (tmp_path / "none", keys / "allowed"):
        assert main(["pack", str(run), str(tmp_path / "x.tar.gz"), "--sign", str(key)]) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1 and f"--sign {key}: " in said and not list(tmp_path.iterdir())
    (tmp_path / "file").touch()
    assert main(["pack", str(run), str(tmp_path / "file/x.tar.gz")]) == 1
    assert "Not a directory: check its folder" in capsys.readouterr().err


def test_without_ssh_keygen_the_package_is_named(signed: Path, keys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                 capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "install the package openssh-client" in refused(signed, tmp_path, capsys, "--allowed", keys / "allowed", status=3)
