#include <medley/checkpoint/checkpoint_files.h>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <set>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/json_count.h>
#include <medley/base/json_reader.h>
#include <medley/base/json_text.h>
#include <medley/base/newer.h>
#include <medley/base/next_command.h>
#include <medley/base/printable.h>

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr int kFormat = 1;
constexpr std::int64_t kLargestManifest = 64 << 20;
constexpr std::int64_t kLargestSeal = 4096;
constexpr std::int64_t kDiskMargin = 1 << 20;
constexpr const char* kPrefix = "step-";
constexpr const char* kBadPrefix = ".bad-";

ordered_json ManifestJson(const Manifest& manifest) {
  ordered_json json = {{"format", kFormat}, {"step", manifest.step}, {"chunk_bytes", kChunkBytes}};
  for (const auto& [name, digest] : manifest.files) {
    json["files"][name] = {{"bytes", digest.bytes}, {"xxh3_128", digest.chunks}};
  }
  json["facts"] = manifest.facts;
  return json;
}

// The whole seal follows from the manifest, so that comparing it byte for byte protects its own bits too.
std::string SealText(std::int64_t step, const std::string& manifest) {
  const ordered_json seal = {{"format", kFormat},
                             {"step", step},
                             {"manifest_bytes", manifest.size()},
                             {"manifest_xxh3_128", HashText(manifest)}};
  return JsonText(seal) + "\n";
}

// Before the seal is judged, which another format may make otherwise. Both say the number: a bit that flipped
// makes a greater one in one of them alone, and that is damage.
void RefuseNewerFormat(const fs::path& checkpoint, const std::string& seal, const std::string& manifest) {
  ordered_json sealed, listed;
  try {
    sealed = ReadJson(seal, ""), listed = ReadJson(manifest, "");
  } catch (const Error&) {
    return;  // damaged
  }
  if (!sealed.is_object() || !listed.is_object()) return;
  if (sealed.value("format", ordered_json()) != listed.value("format", ordered_json())) return;
  RefuseNewer(listed, "format", kFormat, Printable(checkpoint), kEarlierCheckpoint);
}

void CheckFileList(const fs::path& checkpoint, const Manifest& manifest) {
  std::set<std::string> expected = {kManifestFile, kSealFile};
  for (const auto& [name, digest] : manifest.files) expected.insert(name);
  std::set<std::string> found;
  for (const fs::path& path : ListDirectory(checkpoint)) {
    const std::string name = path.filename().string();
    if (expected.count(name) == 0) throw Error(Printable(path) + " does not belong to the checkpoint");
    if (TypeOf(path) != fs::file_type::regular) throw Error(Printable(path) + " is not a plain file");
    found.insert(name);
  }
  for (const std::string& name : expected) {
    if (found.count(name) == 0) throw Error(Printable(checkpoint / name) + " is missing");
  }
}

// What was wrong comes before what else goes wrong.
[[noreturn]] void SetDamagedAside(const fs::path& run, const CheckpointEntry& entry,
                                  const std::exception& damage) {
  std::string words = damage.what();
  try {
    words += ". It is now " + SetCheckpointAside(run, entry).filename().string();
  } catch (const std::exception& error) {
    words += std::string(". Besides, ") + error.what();
  }
  throw Error(words);
}

}  // namespace

std::string CheckpointName(std::int64_t step) {
  std::array<char, 32> name{};
  std::snprintf(name.data(), name.size(), "%s%08lld", kPrefix, static_cast<long long>(step));
  return name.data();
}

std::int64_t StepOfName(const std::string& name) {
  if (name.starts_with(kNewerPrefix)) {
    const std::string own = name.substr(kNewerPrefix.size());
    return StepOfName(own.substr(0, own.find('-', own.find('-') + 1)));
  }
  const std::string digits = name.rfind(kPrefix, 0) == 0 ? name.substr(5) : "";
  const bool good = digits.size() >= 8 && digits.size() <= 18 &&
                    std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
  return good ? std::stoll(digits) : -1;
}

std::vector<CheckpointEntry> ListCheckpoints(const fs::path& run) {
  std::vector<CheckpointEntry> entries;
  for (const fs::path& path : ListDirectory(run)) {
    const std::string name = path.filename().string();
    const std::int64_t step = name.starts_with(kNewerPrefix) ? -1 : StepOfName(name);
    if (step >= 0) entries.push_back({step, path});
  }
  std::ranges::sort(entries, [](const auto& a, const auto& b) { return a.step > b.step; });
  return entries;
}

std::string NewestCheckpointWords(const fs::path& run) {
  try {
    const std::vector<CheckpointEntry> saved = ListCheckpoints(run);
    if (saved.empty()) return "No step of the run was saved";
    return "The newest checkpoint is " + Printable(saved.front().path) + "; medley resume " +
           ShellWord(run.string()) + " goes on from there";
  } catch (const std::exception& error) {
    return "The run's checkpoints cannot be listed: " + std::string(error.what());
  }
}

std::vector<fs::path> ListSetAside(const fs::path& run) {
  std::vector<fs::path> paths;
  for (const fs::path& path : ListDirectory(run)) {
    if (path.filename().string().rfind(kBadPrefix, 0) == 0) paths.push_back(path);
  }
  std::ranges::sort(paths);
  return paths;
}

Manifest ReadManifest(const fs::path& checkpoint) {
  if (TypeOf(checkpoint) != fs::file_type::directory)
    throw Error(Printable(checkpoint) + " is not a directory");
  const std::string seal = ReadSmallFile(checkpoint / kSealFile, kLargestSeal);
  const std::string text = ReadSmallFile(checkpoint / kManifestFile, kLargestManifest);
  const std::int64_t step = StepOfName(checkpoint.filename().string());
  if (seal != SealText(step, text)) {
    RefuseNewerFormat(checkpoint, seal, text);
    throw Error(Printable(checkpoint / kManifestFile) +
                " does not match its seal: one of the two was damaged, or belongs to another checkpoint");
  }
  try {
    const ordered_json json = ReadJson(text, DisplayPath(checkpoint / kManifestFile));
    if (json.at("format") != kFormat) {
      throw Error(Printable(checkpoint / kManifestFile) + " has format " + json.at("format").dump() +
                  ", this medley reads format " + std::to_string(kFormat));
    }
    Manifest manifest;
    manifest.step = CountOf(json, "step");
    if (manifest.step != step)
      throw Error(Printable(checkpoint) + " holds step " + std::to_string(manifest.step));
    for (const auto& [name, file] : json.at("files").items()) {
      manifest.files[name] = {CountOf(file, "bytes"), file.at("xxh3_128").get<std::vector<std::string>>()};
    }
    manifest.facts = json.at("facts");
    return manifest;
  } catch (const nlohmann::json::exception& error) {
    throw Error(Printable(checkpoint / kManifestFile) + " cannot be understood: " + error.what());
  } catch (const std::out_of_range& error) {
    throw Error(Printable(checkpoint / kManifestFile) + " cannot be understood: " + error.what());
  }
}

Manifest VerifyCheckpoint(const fs::path& checkpoint) {
  Manifest manifest = ReadManifest(checkpoint);
  CheckFileList(checkpoint, manifest);
  for (const auto& [name, saved] : manifest.files) {
    const FileDigest found = DigestFile(checkpoint / name, saved.bytes);
    for (std::size_t i = 0; i < std::max(found.chunks.size(), saved.chunks.size()); ++i) {
      if (i < found.chunks.size() && i < saved.chunks.size() && found.chunks[i] == saved.chunks[i]) continue;
      throw Error(Printable(checkpoint / name) +
                  " was damaged: its sum differs from the manifest's in the 16 MiB from byte " +
                  std::to_string(static_cast<std::int64_t>(i) * kChunkBytes));
    }
  }
  return manifest;
}

CheckpointWriter::CheckpointWriter(const fs::path& run, std::int64_t step, std::int64_t expected_bytes)
    : run_(run) {
  const std::int64_t free = FreeBytes(run);
  if (free < expected_bytes + kDiskMargin) {
    throw Error("cannot write " + (run / CheckpointName(step)).string() + ": it needs " +
                std::to_string(expected_bytes) + " bytes and a margin of " + std::to_string(kDiskMargin) +
                ", the disk has " + std::to_string(free) + " left (No space left on device)");
  }
  manifest_.step = step;
  aside_ = run / (".tmp-" + std::to_string(step) + "-" + std::to_string(::getpid()));
  std::error_code ignored;
  fs::remove_all(aside_, ignored);  // of a save of this process that failed
  if (::mkdir(aside_.c_str(), 0755) != 0) ThrowFileError("make", aside_, errno);
}

CheckpointWriter::~CheckpointWriter() {
  std::error_code ignored;
  if (!aside_.empty()) fs::remove_all(aside_, ignored);
}

void CheckpointWriter::AddFile(const std::string& name, std::int64_t expected_bytes,
                               const std::function<void(const Sink&)>& write) {
  manifest_.files[name] = WriteDigested(aside_ / name, expected_bytes, write);
}

FileDigest WriteDigested(const fs::path& path, std::int64_t expected_bytes,
                         const std::function<void(const Sink&)>& write) {
  NewFile file(path, expected_bytes);
  Digester digester;
  write([&](const void* data, std::size_t size) {
    digester.Add(data, size);
    file.Write(data, size);
  });
  file.Commit();
  return digester.Finish();
}

void CheckpointWriter::WriteText(const std::string& name, const std::string& text) {
  NewFile file(aside_ / name);
  file.Write(text.data(), text.size());
  file.Commit();
}

bool IsDamage(const std::exception& error) {
  if (dynamic_cast<const Error*>(&error) == nullptr) return false;  // no memory
  if (dynamic_cast<const NewerError*>(&error) != nullptr) return false;
  const auto* file = dynamic_cast<const FileError*>(&error);
  if (file == nullptr) return true;
  const int number = file->number();
  return number == ENOENT || number == ENOTDIR || number == ELOOP ||
         number == ENXIO;  // missing, a link, a socket
}

// All but the name.
fs::path CheckpointWriter::Finish(ordered_json facts) {
  manifest_.facts = std::move(facts);
  const std::string manifest = JsonText(ManifestJson(manifest_), 1) + "\n";
  WriteText(kManifestFile, manifest);
  WriteText(kSealFile, SealText(manifest_.step, manifest));
  SyncDirectory(aside_);
  return run_ / CheckpointName(manifest_.step);
}

Committed CheckpointWriter::Commit(ordered_json facts, const Check& check) {
  const fs::path committed = Finish(std::move(facts));
  RenameNoReplace(aside_, committed);
  aside_.clear();
  return Settle(committed, check);
}

Committed CheckpointWriter::Replace(ordered_json facts, const Check& check) {
  const fs::path committed = Finish(std::move(facts));
  Exchange(aside_, committed);
  try {
    Committed result = Settle(committed, check);
    if (!result.proven) aside_.clear();  // the next start's
    return result;
  } catch (...) {
    RenameNoReplace(aside_, committed);
    aside_.clear();
    throw;
  }
}

// What the weights need is done: from here on nothing may count the step as not saved, but damage.
Committed CheckpointWriter::Settle(const fs::path& committed, const Check& check) const {
  Committed result{.path = committed, .trouble = {}, .proven = true};
  const auto tell = [&](const char* what, const std::exception& error) {
    result.trouble.push_back(std::string(what) + ": " + error.what());
  };
  try {
    const Manifest written = VerifyCheckpoint(committed);
    if (check) check(committed, written);
    SyncDirectory(run_);
  } catch (const std::exception& error) {
    if (IsDamage(error)) SetDamagedAside(run_, {manifest_.step, committed}, error);
    result.proven = false;
    tell("that it is whole and durable could not be proved, so the older ones stay", error);
  }
  try {
    NameLatest(run_, committed);
  } catch (const std::exception& error) {
    tell("LATEST still names an older one", error);
  }
  return result;
}

void NameLatest(const fs::path& run, const fs::path& checkpoint) {
  ReplaceFile(run / kLatestFile, checkpoint.filename().string() + "\n");
}

void RemoveCheckpoint(const fs::path& run, const CheckpointEntry& entry) {
  // Deleting a directory is not one act: under another name a killed delete leaves nothing that looks
  // committed.
  const fs::path doomed = run / (".del-" + std::to_string(entry.step));
  RemoveAll(doomed);
  RenameNoReplace(entry.path, doomed);
  SyncDirectory(run);
  RemoveAll(doomed);
}

fs::path RenameCheckpoint(const fs::path& run, const CheckpointEntry& entry, const std::string& name) {
  fs::path free = run / name;
  for (int n = 2; TypeOf(free) != fs::file_type::not_found; ++n)
    free = run / (name + "-" + std::to_string(n));
  RenameNoReplace(entry.path, free);
  SyncDirectory(run);
  return free;
}

fs::path SetCheckpointAside(const fs::path& run, const CheckpointEntry& entry) {
  return RenameCheckpoint(run, entry, kBadPrefix + std::to_string(entry.step));
}

}  // namespace medley
