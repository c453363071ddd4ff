// The readers of plugins/signs: as a task opens a file, and looks at what is in it.
#include "pose/clip_csv.h"
#include "pose/clip_json.h"
#include "tests/fuzz/readers.h"
#include "tests/fuzz/written.h"

namespace medley::fuzz {
namespace {

using medley_signs::YAxis;

void ReadClips(const medley_signs::ClipReader& reader) {
  reader.Subjects();
  ShouldersBelowNose(reader);
  for (std::int64_t item = 0; item < reader.size(); ++item) reader.Read(item);
}

void ReadClipTable(const std::string& bytes) {
  ReadClips(medley_signs::ClipFile(Written("clips.csv", bytes), YAxis::kUp));
}

void ReadLandmarks(const std::string& bytes) {
  ReadClips(medley_signs::LandmarkFiles(Written("7_a_landmarks.json", bytes), YAxis::kDown, true));
}

}  // namespace

std::vector<Reader> SignReaders() {
  return {{.name = "clips_csv", .json = false, .read = ReadClipTable, .file = "clips.csv"},
          {.name = "clips_json", .read = ReadLandmarks, .file = "7_a_landmarks.json"}};
}

}  // namespace medley::fuzz
