#include <medley/checkpoint/checkpoint_files.h>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <map>
#include <random>
#include <set>

#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/newer.h>
#include <medley/checkpoint/run_directory.h>

#include "tests/checkpoint/forged_checkpoint.h"
#include "tests/report/scratch_directory.h"
#include "tests/words.h"

namespace {

ino_t g_failing_directory = 0;  // cannot be synced
std::set<ino_t> g_synced;

}  // namespace

// Ours is found before the C library's.
extern "C" int fsync(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) == 0) g_synced.insert(info.st_ino);
  if (info.st_ino == g_failing_directory) {
    errno = EIO;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

namespace medley {
namespace {

namespace fs = std::filesystem;

std::string Noise(std::size_t size) {
  std::mt19937 random(5);
  std::string noise(size, '\0');
  for (char& c : noise) c = static_cast<char>(random());
  return noise;
}

void Fill(CheckpointWriter& writer, std::size_t size) {
  const std::string noise = Noise(size);
  for (const char* name : {"model.safetensors", "state.json"}) {
    writer.AddFile(name, static_cast<std::int64_t>(size),
                   [&](const Sink& sink) { sink(noise.data(), noise.size()); });
  }
}

fs::path Save(const fs::path& run, std::int64_t step, std::size_t size = 300) {
  CheckpointWriter writer(run, step, 1000);
  Fill(writer, size);
  return writer.Commit({{"finite", true}}).path;
}

std::string RefusalOf(const fs::path& checkpoint) {
  try {
    VerifyCheckpoint(checkpoint);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(CheckpointFiles, EveryFlippedBitOfEveryFileIsRefusedWithThePath) {
  const ScratchDirectory scratch;
  const fs::path checkpoint = Save(scratch.path(), 7, 40);
  ASSERT_EQ(RefusalOf(checkpoint), "");
  for (const char* name : {"model.safetensors", "state.json", "manifest.json", "seal"}) {
    const std::string whole = ReadText(checkpoint / name);
    for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
      std::string damaged = whole;
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
      WriteText(checkpoint / name, damaged);
      ASSERT_NE(RefusalOf(checkpoint).find(checkpoint.string()), std::string::npos) << name << " bit " << bit;
    }
    for (std::size_t length = 0; length < whole.size(); ++length) {
      WriteText(checkpoint / name, whole.substr(0, length));
      ASSERT_NE(RefusalOf(checkpoint), "") << name << " cut to " << length;
    }
    WriteText(checkpoint / name, whole + "\n");
    ASSERT_NE(RefusalOf(checkpoint), "") << name;
    WriteText(checkpoint / name, whole);
  }
  EXPECT_EQ(RefusalOf(checkpoint), "");
}

TEST(CheckpointFiles, OneOfANewerMedleyIsNoDamageWhateverItsSealIs) {
  const ScratchDirectory scratch;
  const fs::path checkpoint = Save(scratch.path(), 7);
  const auto refusal = [&] { return test::MessageOf<NewerError>([&] { ReadManifest(checkpoint); }); };
  const std::string expected = checkpoint.string() +
                               " is of a newer medley (format 2, this one reads 1). Use that medley, or a "
                               "checkpoint from before";
  testing_fixture::ForgeFormat(checkpoint, 2);
  EXPECT_EQ(refusal(), expected);
  EXPECT_FALSE(IsDamage(NewerError("a", "b")));
  WriteText(checkpoint / "seal", R"({"format": 2, "sum_of_all": "0123"})");
  EXPECT_EQ(refusal(), expected);
}

// A bit that flips in the number of one of the two files makes no newer checkpoint of it.
TEST(CheckpointFiles, ANumberThatIsDamagedIsDamage) {
  const ScratchDirectory scratch;
  const fs::path checkpoint = Save(scratch.path(), 7, 40);
  for (const char* name : {"manifest.json", "seal"}) {
    const std::string whole = ReadText(checkpoint / name);
    for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
      std::string damaged = whole;
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
      WriteText(checkpoint / name, damaged);
      try {
        ReadManifest(checkpoint);
        ADD_FAILURE() << name << " bit " << bit;
      } catch (const Error& error) {
        EXPECT_TRUE(IsDamage(error)) << error.what();
      }
    }
    WriteText(checkpoint / name, whole);
  }
  testing_fixture::ForgeManifest(
      checkpoint, [](auto&) {}, 3);
  EXPECT_NE(RefusalOf(checkpoint).find("does not match its seal"), std::string::npos);
}

TEST(CheckpointFiles, MissingExtraLinkedAndSwappedFilesAreRefused) {
  const ScratchDirectory scratch;
  const fs::path seven = Save(scratch.path(), 7), eight = Save(scratch.path(), 8);
  for (const char* name : {"model.safetensors", "state.json", "manifest.json", "seal"}) {
    fs::rename(seven / name, scratch / "aside");
    EXPECT_NE(RefusalOf(seven).find(name), std::string::npos) << name;
    fs::create_symlink(scratch / "aside", seven / name);
    EXPECT_NE(RefusalOf(seven).find(name), std::string::npos) << name;
    fs::remove(seven / name);
    ASSERT_EQ(::mkfifo((seven / name).c_str(), 0600), 0);
    EXPECT_NE(RefusalOf(seven).find(name), std::string::npos) << name;
    fs::remove(seven / name);
    fs::rename(scratch / "aside", seven / name);
  }
  WriteText(seven / "extra", "");
  EXPECT_NE(RefusalOf(seven).find("does not belong"), std::string::npos);
  fs::remove(seven / "extra");
  for (const char* name : {"manifest.json", "seal"}) {
    const std::string own = ReadText(seven / name);
    WriteText(seven / name, ReadText(eight / name));
    EXPECT_NE(RefusalOf(seven), "") << name;
    WriteText(seven / name, own);
  }
  EXPECT_EQ(RefusalOf(seven), "");
  fs::rename(seven, scratch / "step-00000009");  // a whole directory under another number
  EXPECT_NE(RefusalOf(scratch / "step-00000009"), "");
}

TEST(CheckpointFiles, ChunksCoverFilesOfAnyLength) {
  const ScratchDirectory scratch;
  for (const std::int64_t size : {kChunkBytes - 1, kChunkBytes, kChunkBytes + 1, 2 * kChunkBytes + 5}) {
    const std::string noise = Noise(static_cast<std::size_t>(size));
    WriteText(scratch / "file", noise);
    Digester pieces;
    for (std::size_t begin = 0; begin < noise.size(); begin += 1000003) {
      pieces.Add(noise.data() + begin, std::min<std::size_t>(1000003, noise.size() - begin));
    }
    const FileDigest digest = pieces.Finish();
    EXPECT_EQ(DigestFile(scratch / "file", size), digest);
    EXPECT_EQ(digest.chunks.size(), static_cast<std::size_t>((size + kChunkBytes - 1) / kChunkBytes));
  }
}

TEST(CheckpointFiles, AreListedByNumberAndNeverReplaced) {
  const ScratchDirectory scratch;
  for (const std::int64_t step : {9900, 10000, 123456789}) Save(scratch.path(), step);
  fs::create_directory(scratch / ".tmp-5-1");
  fs::create_directory(scratch / "step-abc");
  const auto entries = ListCheckpoints(scratch.path());
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].step, 123456789);
  EXPECT_EQ(entries[1].step, 10000);
  EXPECT_EQ(ReadText(scratch / "LATEST"), "step-123456789\n");
  const std::string before = ReadText(scratch / "step-00009900" / "seal");
  EXPECT_THROW(Save(scratch.path(), 9900, 301), Error);
  EXPECT_EQ(ReadText(scratch / "step-00009900" / "seal"), before);
}

TEST(CheckpointFiles, AFullDiskLeavesTheOldOneAndNothingHalf) {
  const ScratchDirectory scratch;
  const fs::path old = Save(scratch.path(), 1);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  for (const rlim_t bytes : {0, 100, 299, 300}) {  // the last one fits the data but not the manifest
    std::string message;
    const rlimit small{bytes, old_limit.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    try {
      Save(scratch.path(), 2);
    } catch (const Error& error) {
      message = error.what();
    }
    setrlimit(RLIMIT_FSIZE, &old_limit);
    EXPECT_NE(message.find("File too large"), std::string::npos) << message;
    EXPECT_NE(message.find(".tmp-2"), std::string::npos) << message;
    EXPECT_EQ(ListCheckpoints(scratch.path()).size(), 1u);
    EXPECT_EQ(std::distance(fs::directory_iterator(scratch.path()), fs::directory_iterator()),
              2);  // and LATEST
  }
  std::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(RefusalOf(old), "");
  EXPECT_EQ(RefusalOf(Save(scratch.path(), 2)), "");
}

// LATEST is a hint: nothing that is trained may hang on it.
TEST(CheckpointFiles, WhatFailsAfterTheCommitPointIsOnlyTold) {
  const ScratchDirectory scratch;
  fs::create_directory(scratch / "LATEST");
  const auto commit = [&](std::int64_t step) {
    CheckpointWriter writer(scratch.path(), step, 4);
    writer.AddFile("state.json", 4, [](const Sink& sink) { sink("null", 4); });
    return writer.Commit({{"finite", true}});
  };
  const Committed hint = commit(1);
  EXPECT_TRUE(hint.proven);
  ASSERT_EQ(hint.trouble.size(), 1u);
  EXPECT_NE(hint.trouble[0].find("LATEST"), std::string::npos) << hint.trouble[0];
  EXPECT_EQ(RefusalOf(hint.path), "");

  struct stat info {};
  ASSERT_EQ(::stat(scratch.path().c_str(), &info), 0);
  g_failing_directory = info.st_ino;
  const Committed doubtful = commit(2);
  g_failing_directory = 0;
  EXPECT_FALSE(doubtful.proven) << "a power failure could take it away";
  EXPECT_NE(doubtful.trouble.at(0).find("Input/output error"), std::string::npos) << doubtful.trouble[0];
  EXPECT_EQ(RefusalOf(doubtful.path), "");
}

TEST(CheckpointFiles, TroubleOfTheMachineIsNoDamage) {
  for (const int number : {EIO, EMFILE, ENFILE, ENOMEM, EACCES, EPERM})
    EXPECT_FALSE(IsDamage(FileError("", number))) << number;
  for (const int number : {ENOENT, ELOOP, ENXIO}) EXPECT_TRUE(IsDamage(FileError("", number))) << number;
  EXPECT_FALSE(IsDamage(std::bad_alloc()));
  EXPECT_TRUE(IsDamage(Error("its sum differs")));
  const ScratchDirectory scratch;
  const fs::path checkpoint = Save(scratch.path(), 1);
  rlimit old_limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &old_limit), 0);
  const rlimit none{0, old_limit.rlim_max};
  bool damage = true;
  setrlimit(RLIMIT_NOFILE, &none);
  try {
    VerifyCheckpoint(checkpoint);
  } catch (const std::exception& error) {
    damage = IsDamage(error);
  }
  setrlimit(RLIMIT_NOFILE, &old_limit);
  EXPECT_FALSE(damage);
}

TEST(CheckpointFiles, MoreThanTheDiskHasIsRefusedBeforeAnythingIsWritten) {
  const ScratchDirectory scratch;
  EXPECT_THROW(CheckpointWriter(scratch.path(), 1, std::int64_t{1} << 60), Error);
  EXPECT_TRUE(fs::is_empty(scratch.path()));
}

std::map<std::string, std::string> Contents(const fs::path& directory) {
  std::map<std::string, std::string> contents;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file())
      contents[entry.path().lexically_relative(directory).string()] = ReadText(entry.path());
  }
  return contents;
}

// One that lacked an evaluation, say: at no moment is there none.
TEST(CheckpointFiles, OneOfTheSameStepIsReplacedAsOneAct) {
  const ScratchDirectory scratch;
  Save(scratch.path(), 3, 100);
  fs::path again;
  {
    CheckpointWriter writer(scratch.path(), 3, 1000);
    Fill(writer, 400);
    again = writer.Replace({{"finite", true}}).path;
  }
  EXPECT_EQ(RefusalOf(again), "");
  EXPECT_EQ(fs::file_size(again / "state.json"), 400u);
  EXPECT_EQ(ListDirectory(scratch.path()), (std::vector<fs::path>{scratch / "LATEST", again}))
      << "nothing aside";
}

TEST(CheckpointFiles, ADamagedOneDoesNotReplaceAWholeOne) {
  const ScratchDirectory scratch;
  const fs::path whole = Save(scratch.path(), 3, 100);
  const auto before = Contents(whole);
  CheckpointWriter writer(scratch.path(), 3, 1000);
  Fill(writer, 400);
  try {
    writer.Replace({{"finite", true}},
                   [](const fs::path&, const Manifest&) { throw Error("it means nothing"); });
    FAIL() << "it was taken";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "it means nothing. It is now .bad-3");
  }
  EXPECT_EQ(Contents(whole), before);
  EXPECT_TRUE(fs::exists(scratch / ".bad-3"));
}

TEST(RunDirectory, OneProcessAtATimeAndOneRunADirectory) {
  const ScratchDirectory scratch;
  {
    const RunDirectory first = RunDirectory::Create(scratch / "run");
    first.WriteConfig({{"steps", 1}});
    for (const auto open : {&RunDirectory::Create, &RunDirectory::Open}) {
      try {
        open(scratch / "run");
        FAIL();
      } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find("process " + std::to_string(::getpid())), std::string::npos)
            << error.what();
      }
    }
    first.WriteRecord({{"medley", "1"}});
  }
  try {
    RunDirectory::Create(scratch / "run");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("medley resume"), std::string::npos) << error.what();
  }
  const RunDirectory again = RunDirectory::Open(scratch / "run");
  EXPECT_EQ(again.took_over(), "");
  again.WriteConfig({{"steps", 2}});
  again.WriteRecord({{"medley", "2"}});
  EXPECT_EQ(NewestConfig(scratch / "run").filename(), "config.resolved.1.json");
  EXPECT_EQ(ReadRunRecord(scratch / "run").at("starts").size(), 2u);
  EXPECT_EQ(ReadRunRecord(scratch / "run").at("medley"), "2");
  RecordEnd(scratch / "run", 7, RunEnd::kStopped, "it was interrupted");
  const nlohmann::json starts = ReadRunRecord(scratch / "run").at("starts");
  EXPECT_FALSE(starts.at(0).contains("ended"));
  EXPECT_EQ(starts.at(1).at("ended").at("step"), 7);
  EXPECT_EQ(EndOfRun(starts.at(1).at("ended")), RunEnd::kStopped);
  EXPECT_EQ(EndOfRun(nullptr), std::nullopt);
  EXPECT_EQ(EndOfRun({{"step", 7}, {"why", "its hours are over"}}), RunEnd::kEnded) << "an older medley";
}

// Else a power failure could take the run with all that was announced of it.
TEST(RunDirectory, EachNewDirectoryIsDurableInTheOneAbove) {
  const ScratchDirectory scratch;
  g_synced.clear();
  RunDirectory::Create(scratch.path() / "a" / "b" / "run");
  for (const fs::path& parent : {scratch.path(), scratch / "a", scratch.path() / "a" / "b"}) {
    struct stat info {};
    ASSERT_EQ(::stat(parent.c_str(), &info), 0);
    EXPECT_EQ(g_synced.count(info.st_ino), 1u) << parent;
  }
}

// Its process may have been killed before it had synced what it made.
TEST(RunDirectory, OneThatIsThereAlreadyIsMadeDurableToo) {
  const ScratchDirectory scratch;
  fs::create_directory(scratch / "run");
  struct stat parent {};
  ASSERT_EQ(::stat(scratch.path().c_str(), &parent), 0);
  g_synced.clear();
  RunDirectory::Create(scratch / "run").WriteConfig({{"steps", 1}});
  EXPECT_EQ(g_synced.count(parent.st_ino), 1u);
  g_synced.clear();
  RunDirectory::Open(scratch / "run");
  EXPECT_EQ(g_synced.count(parent.st_ino), 1u);
}

TEST(RunDirectory, ALockOfADeadProcessIsTakenOverAndItsLeftoversRemoved) {
  const ScratchDirectory scratch;
  WriteText(scratch / "config.resolved.json", "{}");
  WriteText(scratch / "run.lock",
            R"({"pid": 4711, "host": "elsewhere", "boot_id": "x", "started": "yesterday"})");
  fs::create_directories(scratch.path() / ".tmp-3-9" / "x");
  fs::create_directory(scratch / ".del-2");
  const RunDirectory directory = RunDirectory::Open(scratch.path());
  EXPECT_EQ(directory.took_over(), "process 4711 on elsewhere, started yesterday (in another boot)");
  EXPECT_FALSE(fs::exists(scratch / ".tmp-3-9"));
  EXPECT_FALSE(fs::exists(scratch / ".del-2"));
}

// Who goes by the rules refuses them.
TEST(RunDirectory, RulesOfANewerMedleyAreKeptInTheRecord) {
  const ScratchDirectory scratch;
  WriteText(scratch / "config.resolved.json", "{}");
  const std::string record = R"({"medley": "9.0.0", "data_rules": {"version": 2, "by": "moon"}})";
  WriteText(scratch / "run.json", record);
  EXPECT_TRUE(RunDirectory::Open(scratch.path()).mended().empty());
  EXPECT_EQ(ReadText(scratch / "run.json"), record);
  EXPECT_EQ(ReadRunRecord(scratch.path()), nlohmann::ordered_json::parse(record));
  WriteText(scratch / "run.json", R"({"medley": "9.0.0", "data_rules": {"version": 1, "by": "moon"}})");
  EXPECT_EQ(RunDirectory::Open(scratch.path()).mended().size(), 1u) << "this is damage";
}

TEST(RunDirectory, WhatIsNoRunIsNotResumed) {
  const ScratchDirectory scratch;
  EXPECT_THROW(RunDirectory::Open(scratch.path()), InputError);
  EXPECT_THROW(RunDirectory::Open(scratch / "none"), InputError);
  EXPECT_TRUE(fs::is_empty(scratch.path()));
}

}  // namespace
}  // namespace medley
