// The readers of conversations of plugins/volumes: as a task opens a file, and reads what it names.
#include <string>

#include "data/conversation_file.h"
#include "tests/fuzz/readers.h"
#include "tests/fuzz/written.h"

namespace medley::fuzz {
namespace {

using medley_volumes::ConversationFile;

// A volume of 2 x 2 x 2 bytes.
std::string Scan() {
  std::string bytes(352, '\0');
  const auto put = [&](std::size_t at, const std::string& part) { bytes.replace(at, part.size(), part); };
  using namespace std::string_literals;
  put(0, "\x5c\x01"s);
  put(40, "\3\0\2\0\2\0\2\0"s);
  put(70, "\2\0\x08\0"s);
  put(108, "\0\0\xb0\x43"s);
  put(344, "n+1"s);
  return bytes + "12345678";
}

void ReadAll(const ConversationFile& file) {
  for (std::int64_t item = 0; item < file.size(); ++item)
    medley_volumes::ForEachScan(file.Read(item), [](const medley_volumes::Scan& scan) { scan.voxels(); });
}

// `name`: says whether these are lines or a list.
void ReadConversations(const std::string& name, const std::string& bytes) {
  Written("s.nii", Scan());
  Written("s.raw", "11112222333344445555666677778888");  // floats, of which no two means are equal
  const medley_volumes::Geometry sizes{.volume_side = 2, .series_side = 2, .frames = 2};
  ReadAll(ConversationFile(Written(name, bytes),
                           {.scans = {.resize = true, .geometry = sizes}, .answer = "metadata.label"}));
}

}  // namespace

std::vector<Reader> ConversationReaders() {
  const auto of = [](const char* name, const char* file) {
    return Reader{.name = name,
                  .read = [file](const std::string& bytes) { ReadConversations(file, bytes); },
                  .file = file};
  };
  return {of("conversations", "talk.jsonl"), of("conversation_list", "talk.json")};
}

}  // namespace medley::fuzz
