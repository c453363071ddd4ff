#include <medley/data/last_read.h>

#include <medley/base/error.h>

namespace medley {
namespace {

struct LastRead {
  std::weak_ptr<const RecordIndex> file;
  std::int64_t record = 0;
};
thread_local LastRead last_read;

}  // namespace

void NoteRead(const std::shared_ptr<const RecordIndex>& file, std::int64_t record) {
  last_read = {file, record};
}

void ForgetRead() { last_read.file.reset(); }
bool WasRead() { return !last_read.file.expired(); }

void ThrowOfLastRead(const std::string& words) {
  const auto file = last_read.file.lock();
  if (file == nullptr) throw Error(words);
  const std::string place = file->PlaceOf(last_read.record);
  // By its words: another version of nlohmann's library, in a plugin, has other types.
  if (words.starts_with("[json.exception.")) throw InputError(place + ": " + words);
  throw Error(words + " (the record that was read last: " + place + ")");
}

}  // namespace medley
