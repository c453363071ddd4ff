#include <elf.h>
#include <gtest/gtest.h>
#include <medley/plugin/elf_file.h>
#include <medley/plugin/libraries_beside.h>
#include <medley/plugin/rejection.h>
#include <medley/plugin/spec_reader.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <random>

#include "tests/plugin/test_files.h"

namespace medley::testing {
namespace {

namespace fs = std::filesystem;

// What is wrong with the file, as a scan says it: "state: reason"; "" for a plugin.
std::string Verdict(const fs::path& path) {
  const Registry registry = ScanOnly({path.parent_path()});
  for (const RejectedPlugin& file : registry.rejected()) {
    if (file.path.filename() == path.filename()) return file.state + ": " + file.reason;
  }
  return "";
}

std::string VerdictOn(std::string_view bytes) {
  const TempDirectory directory;
  WriteBytes(directory / "candidate.so", bytes);
  return Verdict(directory / "candidate.so");
}

bool Begins(const std::string& text, std::string_view with) { return text.starts_with(with); }

const std::string& Tiny() {
  static const std::string bytes = ReadBytes(Fixture("tiny"));
  return bytes;
}

TEST(ElfFile, ReadsNoteBuildIdAndNeededLibraries) {
  const ElfFile elf = ReadElfFile(Fixture("tiny"));
  EXPECT_TRUE(elf.note.starts_with("{\"abi\":{"));
  EXPECT_EQ(elf.build_id.size(), 40u);
  EXPECT_NE(std::find(elf.needed.begin(), elf.needed.end(), "libmedley.so"), elf.needed.end());
  const PluginNote note = ReadPluginNote(elf.note);
  ASSERT_EQ(note.tasks.size(), 1u);
  EXPECT_EQ(note.tasks[0].variants[0].terms[0].weight, 0.001);
  EXPECT_NE(elf.note.find("\"weight\":0.001,"), std::string::npos);
}

TEST(ElfFile, TheLibrariesBesideAPluginAreFoundWhereverItLies) {
  const auto of = [](const fs::path& plugin) { return LibrariesBeside(plugin); };
  const fs::path plugin = Fixture("needs_a_library"), library = plugin.parent_path() / "libbeside.so";
  EXPECT_EQ(of(plugin), (std::vector<fs::path>{fs::canonical(library)}));
  const TempDirectory directory;
  fs::copy_file(plugin, directory / "copy.so");
  EXPECT_TRUE(of(directory / "copy.so").empty());
  fs::copy_file(library, directory / "libbeside.so");
  EXPECT_EQ(of(directory / "copy.so"), (std::vector<fs::path>{fs::canonical(directory / "libbeside.so")}));
  EXPECT_TRUE(of(Fixture("tiny")).empty()) << "libtorch and medley lie elsewhere";
  EXPECT_TRUE(of(directory / "nowhere.so").empty());
}

TEST(ElfFile, FilesThatAreNoLibrariesHaveAReason) {
  EXPECT_EQ(VerdictOn(std::string_view("")), "not a plugin: the file is empty");
  EXPECT_EQ(VerdictOn("just some text\n"), "not a plugin: not a shared library (no ELF header)");
  EXPECT_EQ(VerdictOn("\x7f"
                      "EL"),
            "not a plugin: not a shared library (no ELF header)");
}

TEST(ElfFile, SpecialFilesNeitherHangNorCrash) {
  const TempDirectory directory;
  fs::create_directory(directory / "directory.so");
  ASSERT_EQ(mkfifo((directory / "fifo.so").c_str(), 0600), 0);
  fs::create_symlink("nowhere", directory / "dangling.so");
  fs::create_symlink("loop.so", directory / "loop.so");
  fs::copy_file(Fixture("tiny"), directory / "tiny.so");
  EXPECT_EQ(Verdict(directory / "directory.so"), "not a plugin: not a regular file");
  EXPECT_EQ(Verdict(directory / "fifo.so"), "not a plugin: not a regular file");
  EXPECT_EQ(Verdict(directory / "dangling.so"), "missing: a link that leads nowhere");
  EXPECT_TRUE(Begins(Verdict(directory / "loop.so"), "missing: "));
  const Registry registry = ScanOnly({directory.path()});
  EXPECT_EQ(registry.rejected().size(), 4u);
  EXPECT_NE(registry.Find("tiny"), nullptr) << "bad files must not hide good ones";
}

TEST(ElfFile, TruncationIsSeenWhereLoadingWouldFault) {
  const std::string& bytes = Tiny();
  for (const std::size_t size : {std::size_t{10}, std::size_t{63}, std::size_t{100}, std::size_t{700},
                                 std::size_t{4096}, bytes.size() / 2}) {
    EXPECT_TRUE(Begins(VerdictOn(std::string_view(bytes).substr(0, size)), "truncated: ")) << size;
  }
  // The last byte belongs to a table of names that nothing needs for loading.
  EXPECT_EQ(VerdictOn(std::string_view(bytes).substr(0, bytes.size() - 1)), "");
}

TEST(ElfFile, OneThatThisUserMayNotReadIsNamed) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  const TempDirectory directory;
  fs::copy_file(Fixture("tiny"), directory / "plugin.so");
  ASSERT_EQ(chmod((directory / "plugin.so").c_str(), 0600), 0);
  ASSERT_EQ(chmod(directory.path().c_str(), 0755), 0);
  ASSERT_EQ(seteuid(12345), 0);
  const std::string verdict = Verdict(directory / "plugin.so");
  ASSERT_EQ(seteuid(0), 0);
  EXPECT_TRUE(Begins(verdict, "unreadable: ")) << verdict;
}

TEST(ElfFile, OtherMachinesAndProgramsAreNamed) {
  std::string other = Tiny();
  other[offsetof(Elf64_Ehdr, e_machine)] = static_cast<char>(EM_RISCV);
  EXPECT_TRUE(Begins(VerdictOn(other), "other machine: "));
  std::string narrow = Tiny();
  narrow[EI_CLASS] = ELFCLASS32;
  EXPECT_TRUE(Begins(VerdictOn(narrow), "other machine: "));
  EXPECT_EQ(VerdictOn(ReadBytes("/proc/self/exe")), "not a plugin: a program, not a plugin");
  EXPECT_TRUE(Begins(VerdictOn(ReadBytes(fs::path(MEDLEY_BUILD_DIR) / "lib/libmedley_base.so")),
                     "not a plugin: a shared library without a medley note"));
}

TEST(ElfFile, BadNotesHaveAReason) {
  EXPECT_TRUE(Begins(VerdictOn(ReadBytes(Fixture("two_notes"))), "bad note: two medley notes"));
  EXPECT_TRUE(Begins(VerdictOn(ReadBytes(Fixture("large_note"))), "bad note: its medley note is larger"));
  EXPECT_TRUE(Begins(VerdictOn(Patched(Tiny(), std::string_view("\1\0\0\0medley", 10),
                                       std::string_view("\2\0\0\0medley", 10))),
                     "bad note: its medley note is of type 2, this medley reads type 1; build it again with "
                     "this medley"));
  // Notes of others are passed over, so that this file has none of ours.
  EXPECT_TRUE(Begins(VerdictOn(Patched(Tiny(), std::string_view("\1\0\0\0medley", 10),
                                       std::string_view("\1\0\0\0meddle", 10))),
                     "not a plugin: a shared library without a medley note"));
  const std::size_t owner = Tiny().find(std::string_view("\1\0\0\0medley", 10));
  std::string endless = Tiny();
  endless.replace(owner - 4, 4, "\xff\xff\xff\x7f");  // the length in front of the type
  EXPECT_TRUE(Begins(VerdictOn(endless), "bad note: ")) << VerdictOn(endless);
  EXPECT_TRUE(
      Begins(VerdictOn(Patched(Tiny(), "{\"abi\"", "(\"abi\"")), "bad note: its spec is not good JSON"));
  EXPECT_TRUE(
      Begins(VerdictOn(Patched(Tiny(), "\"add\"", "\"Add\"")), "bad note: its spec has the bad name 'Add'"));
  EXPECT_TRUE(Begins(VerdictOn(Patched(Tiny(), "\"text_width\":0", "\"text_width\":x")),
                     "bad note: its spec is not good JSON"));
  EXPECT_TRUE(Begins(VerdictOn(Patched(Tiny(), "\"max_items\":1", "\"max_items\":0")), "bad note: "));
  EXPECT_TRUE(Begins(VerdictOn(Patched(Tiny(), "\"weight\":0.001", "\"weight\":1e999")), "bad note: "));
  EXPECT_TRUE(Begins(VerdictOn(Patched(Tiny(), "\"weight\":0.001", "\"weight\":-1.01")),
                     "bad note: its spec has -1.01 in 'weight'; build it again with this medley"));
  EXPECT_TRUE(Begins(VerdictOn(Patched(Tiny(), "\"weight\":0.001", "\"weight\":\"1.0\"")),
                     "bad note: its spec has no number in 'weight'"));
  EXPECT_TRUE(Begins(VerdictOn(Patched(Tiny(), "\"carries\":[]", "\"images\":[] ")),
                     "bad note: its spec is not good JSON (note:1:"));
}

TEST(ElfFile, APluginWithoutSectionHeadersWorks) {
  std::string bytes = Tiny();
  auto* header = reinterpret_cast<Elf64_Ehdr*>(bytes.data());
  header->e_shoff = header->e_shnum = header->e_shstrndx = 0;
  EXPECT_EQ(VerdictOn(bytes), "");
}

// Reads a mutant as a scan does. Anything but Rejection ends the test.
bool Survives(const fs::path& path) {
  try {
    ReadPluginNote(ReadElfFile(path).note);
  } catch (const Rejection& rejection) {
    return !rejection.reason.empty();
  }
  return true;
}

TEST(ElfFile, TenThousandMutantsAreReadOrRejected) {
  const TempDirectory directory;
  const fs::path path = directory / "mutant.so";
  WriteBytes(path, Tiny());
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  std::mt19937_64 random(7);
  const std::size_t note = Tiny().find("{\"abi\"");
  const std::size_t headers = sizeof(Elf64_Ehdr) + 11 * sizeof(Elf64_Phdr);
  for (int i = 0; i < 10'000; ++i) {
    std::string bytes =
        Tiny().substr(0, note + 512);  // only these change: writing whole files would take minutes
    const std::size_t changes = 1 + random() % 4;
    for (std::size_t change = 0; change < changes; ++change) {
      const std::size_t at = random() % 3 == 0 ? note - 24 + random() % 400 : random() % headers;
      const char values[] = {'\0', '\xff', '\x7f', static_cast<char>(random()),
                             static_cast<char>(bytes[at] + 1)};
      bytes[at] = values[random() % 5];
    }
    file.seekp(0).write(bytes.data(), static_cast<std::streamsize>(bytes.size())).flush();
    ASSERT_TRUE(Survives(path)) << i;
  }
}

TEST(SpecReader, TenThousandMutantsOfTheJsonAreReadOrRejected) {
  const std::string json = ReadElfFile(Fixture("tiny")).note;
  std::mt19937_64 random(11);
  for (int i = 0; i < 10'000; ++i) {
    std::string mutant = json;
    for (int change = 0; change < 3; ++change) {
      const std::size_t at = random() % mutant.size();
      switch (random() % 4) {
        case 0:
          mutant.erase(at, random() % 20);
          break;
        case 1:
          mutant.insert(at, json.substr(random() % json.size(), random() % 40));
          break;
        case 2:
          mutant[at] = "{}[]\",:0-9\\\xff"[random() % 13];
          break;
        default:
          mutant[at] = static_cast<char>(random());
      }
    }
    try {
      ReadPluginNote(mutant);
    } catch (const Rejection&) {
    }
  }
}

TEST(SpecReader, DepthIsLimited) {
  EXPECT_THROW(ReadPluginNote(std::string(60'000, '[')), Rejection);
  EXPECT_THROW(ReadPluginNote(std::string(30'000, '[') + std::string(30'000, ']')), Rejection);
}

}  // namespace
}  // namespace medley::testing
