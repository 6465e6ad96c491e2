#!/usr/bin/env python3
"""tools/setup.sh: what it chooses, what it refuses, and what it says. Nothing is installed: apt, dpkg and Python are fakes."""

import os
import pathlib
import stat
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLAIN_TOOLS = ["bash", "sh", "dirname", "grep", "env", "nproc", "getconf", "cat", "sha256sum", "date", "id"]

DPKG_ALL_THERE = "#!/bin/sh\nprintf 'ii '\n"
DPKG_NOTHING = "#!/bin/sh\nexit 1\n"
APT_CACHE_ALL = "#!/bin/sh\necho \"$2 | 1.81\"\n"
APT_CACHE_NONE = "#!/bin/sh\nexit 0\n"
PYTHON_WITH_TORCH = "#!/bin/sh\necho torch 2.13.0\n"
PYTHON_WITHOUT_TORCH = "#!/bin/sh\nexit 1\n"


class Setup(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.bin = pathlib.Path(self.directory.name) / "bin"
        self.bin.mkdir()
        for tool in PLAIN_TOOLS:
            for place in ("/usr/bin", "/bin"):
                if os.path.exists(f"{place}/{tool}"):
                    (self.bin / tool).symlink_to(f"{place}/{tool}")
                    break
        self.log = pathlib.Path(self.directory.name) / "apt.log"

    def tearDown(self):
        self.directory.cleanup()

    def fake(self, name, text):
        path = self.bin / name
        if path.is_symlink():
            path.unlink()
        path.write_text(text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def fake_debian(self, dpkg, apt_cache=APT_CACHE_ALL, apt_get=None):
        self.fake("dpkg-query", dpkg)
        self.fake("apt-cache", apt_cache)
        self.fake("apt-get", apt_get or f'#!/bin/sh\necho "$@" >> {self.log}\n')

    def run_setup(self, *arguments, python=None, **environment):
        values = {"PATH": str(self.bin), "LC_ALL": "C", "HOME": self.directory.name, **environment}
        if python:
            values["KGEN_PYTHON"] = str(python)
        result = subprocess.run(["bash", str(ROOT / "tools/setup.sh"), *arguments], env=values, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return result.returncode, result.stdout

    def test_everything_there_installs_nothing(self):
        self.fake_debian(DPKG_ALL_THERE)
        code, output = self.run_setup("--dev", python=self.fake("mypython", PYTHON_WITH_TORCH))
        self.assertEqual(code, 0, output)
        self.assertIn("all there", output)
        self.assertIn("torch 2.13.0", output)
        self.assertFalse(self.log.exists())

    def test_python3_with_torch_is_used_as_it_is(self):
        self.fake_debian(DPKG_ALL_THERE)
        python = self.fake("python3", PYTHON_WITH_TORCH)
        code, output = self.run_setup()
        self.assertEqual(code, 0, output)
        self.assertIn(str(python), output)

    def test_kgen_python_without_torch_is_refused(self):
        self.fake_debian(DPKG_ALL_THERE)
        code, output = self.run_setup(python=self.fake("mypython", PYTHON_WITHOUT_TORCH))
        self.assertEqual(code, 69, output)
        self.assertIn("has no torch", output)

    def test_missing_packages_are_installed_by_name(self):
        self.fake_debian(DPKG_NOTHING)
        self.fake("id", "#!/bin/sh\necho 0\n")
        code, output = self.run_setup(python=self.fake("mypython", PYTHON_WITH_TORCH))
        self.assertEqual(code, 0, output)
        calls = self.log.read_text()
        self.assertIn("update", calls)
        self.assertIn("libboost-json1.81-dev", calls)
        self.assertNotIn("clang-tidy", calls)
        self.assertNotIn("libboost-process", calls)  # headers only

    def test_a_boost_with_a_compiled_process_library_brings_it(self):
        self.fake_debian(DPKG_NOTHING, apt_cache='#!/bin/sh\ncase "$2" in *1.88*) echo "$2 | 1.88" ;; esac\n')
        self.fake("id", "#!/bin/sh\necho 0\n")
        code, output = self.run_setup(python=self.fake("mypython", PYTHON_WITH_TORCH))
        self.assertEqual(code, 0, output)
        self.assertIn("libboost-process1.88-dev", self.log.read_text())

    def test_without_rights_the_command_is_named(self):
        self.fake_debian(DPKG_NOTHING)
        self.fake("id", "#!/bin/sh\necho 1000\n")
        code, output = self.run_setup(python=self.fake("mypython", PYTHON_WITH_TORCH))
        self.assertEqual(code, 69, output)
        self.assertIn("not root", output)
        self.assertIn("apt-get install -y --no-install-recommends g++", output)

    def test_sudo_is_used_when_not_root(self):
        self.fake_debian(DPKG_NOTHING)
        self.fake("id", "#!/bin/sh\necho 1000\n")
        self.fake("sudo", f'#!/bin/sh\necho sudo >> {self.log}\nexec "$@"\n')
        code, output = self.run_setup(python=self.fake("mypython", PYTHON_WITH_TORCH))
        self.assertEqual(code, 0, output)
        self.assertIn("sudo", self.log.read_text())

    def test_a_failing_apt_is_not_ignored(self):
        self.fake_debian(DPKG_NOTHING, apt_get="#!/bin/sh\necho broken mirror\nexit 100\n")
        self.fake("id", "#!/bin/sh\necho 0\n")
        code, output = self.run_setup(python=self.fake("mypython", PYTHON_WITH_TORCH))
        self.assertNotEqual(code, 0, output)

    def test_a_system_without_a_new_boost_is_told(self):
        self.fake_debian(DPKG_NOTHING, apt_cache=APT_CACHE_NONE)
        self.fake("id", "#!/bin/sh\necho 0\n")
        code, output = self.run_setup(python=self.fake("mypython", PYTHON_WITH_TORCH))
        self.assertEqual(code, 69, output)
        self.assertIn("No Boost 1.81", output)

    def test_elsewhere_the_missing_tools_are_named(self):
        code, output = self.run_setup(python=self.fake("mypython", PYTHON_WITH_TORCH))
        self.assertEqual(code, 69, output)
        self.assertIn("cmake", output)
        self.assertIn("Boost", output)

    def test_unknown_option_is_wrong_usage(self):
        code, output = self.run_setup("--everything")
        self.assertEqual(code, 64, output)


if __name__ == "__main__":
    unittest.main()
