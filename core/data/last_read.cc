#include <medley/data/last_read.h>

#include <exception>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/data/record_index.h>

namespace medley {
namespace {

struct LastRead {
  std::string record_file = {};  // "": none
  std::uint64_t begin = 0;
  bool was_read = false;
  std::string file = {};
};
thread_local LastRead last_read;

// The file may be gone, or another one, by now.
std::string PlaceOfRecord() {
  try {
    return RecordPlace(last_read.record_file, last_read.begin);
  } catch (const std::exception&) {
    return DisplayPath(last_read.record_file);
  }
}

}  // namespace

void NoteUse(const std::filesystem::path& file, std::uint64_t begin) {
  last_read.record_file =
      file.native();  // a text of as many bytes has its room already, a path's parts have not
  last_read.begin = begin;
  last_read.file.clear();
}

void NoteRead(const std::filesystem::path& file, std::uint64_t begin) {
  NoteUse(file, begin);
  last_read.was_read = true;
}

void NoteFile(const std::filesystem::path& file) { last_read.file = file.native(); }

void ForgetRead() {
  last_read.record_file.clear();
  last_read.file.clear();
  last_read.was_read = false;
}

bool WasRead() { return last_read.was_read; }

std::string PlaceOfLastRead() {
  if (last_read.record_file.empty()) return last_read.file.empty() ? "" : DisplayPath(last_read.file);
  return PlaceOfRecord() + (last_read.file.empty() ? "" : ", " + DisplayPath(last_read.file));
}

std::string WithPlace(const std::string& words) {
  const auto names = [&](const std::string& file) {
    return !file.empty() && words.find(DisplayPath(file)) != std::string::npos;
  };
  if (names(last_read.record_file) || names(last_read.file)) return words;
  const std::string place = PlaceOfLastRead();
  return place.empty() ? words : place + ": " + words;
}

void ThrowOfLastRead(const std::string& words) {
  const std::string place = PlaceOfLastRead();
  if (place.empty()) throw Error(words);
  // By its words: another version of nlohmann's library, in a plugin, has other types.
  if (words.starts_with("[json.exception.")) throw InputError(place + ": " + words);
  throw Error(words + " (the record that was read last: " + place + ")");
}

}  // namespace medley
