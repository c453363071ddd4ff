#include <medley/report/event_file.h>
#include <medley/report/event_images.h>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <limits>
#include <nlohmann/json.hpp>
#include <protozero/pbf_reader.hpp>
#include <stdexcept>
#include <vector>

#include <medley/base/error.h>

#include "tests/report/made_picture.h"
#include "tests/report/scratch_directory.h"
#include "tests/tools/run_command.h"

namespace medley {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "events.out.tfevents.medley";
constexpr const char* kAside = "events.out.events.medley.damaged-";

double Now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// A bit at a time, as the polynomial is divided on paper.
std::uint32_t SlowCrc32c(std::string_view bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? crc >> 1 ^ 0x82f63b78 : crc >> 1;
  }
  return ~crc;
}

std::uint32_t Masked(std::uint32_t crc) { return (crc >> 15 | crc << 17) + 0xa282ead8; }

template <typename Number>
Number NumberAt(const std::string& bytes, std::size_t at) {
  Number number = 0;
  for (std::size_t i = sizeof(Number); i-- > 0;)
    number = number << 8 | static_cast<unsigned char>(bytes.at(at + i));
  return number;
}

template <typename Number>
std::string BytesOf(Number number) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof(Number); ++i, number >>= 8) bytes += static_cast<char>(number & 255);
  return bytes;
}

std::string HeaderFor(std::uint64_t length) {
  const std::string bytes = BytesOf(length);
  return bytes + BytesOf(Masked(SlowCrc32c(bytes)));
}

std::vector<std::string> ReadRecords(const fs::path& path) {
  const std::string file = ReadText(path);
  std::vector<std::string> records;
  for (std::size_t at = 0; at < file.size();) {
    const auto length = NumberAt<std::uint64_t>(file, at);
    if (HeaderFor(length) != file.substr(at, 12)) throw std::runtime_error("a header is wrong");
    records.push_back(file.substr(at + 12, length));
    if (records.back().size() != length) throw std::runtime_error("a record is cut off");
    if (NumberAt<std::uint32_t>(file, at + 12 + length) != Masked(SlowCrc32c(records.back())))
      throw std::runtime_error("a checksum is wrong");
    at += 12 + length + 4;
  }
  return records;
}

struct Event {
  double wall_time = 0;
  std::int64_t step = 0;
  std::string version, tag;
  float value = 0;
  std::int32_t height = 0, width = 0, colorspace = 0;
  std::string png;
};

void ReadImage(protozero::pbf_reader image, Event& event) {
  while (image.next()) {
    switch (image.tag()) {
      case 1:
        event.height = image.get_int32();
        break;
      case 2:
        event.width = image.get_int32();
        break;
      case 3:
        event.colorspace = image.get_int32();
        break;
      case 4:
        event.png = image.get_bytes();
        break;
      default:
        throw std::runtime_error("an unknown field of an image");
    }
  }
}

void ReadValue(protozero::pbf_reader value, Event& event) {
  while (value.next()) {
    switch (value.tag()) {
      case 1:
        event.tag = value.get_string();
        break;
      case 2:
        event.value = value.get_float();
        break;
      case 4:
        ReadImage(value.get_message(), event);
        break;
      case 8:  // TensorBoard's own package reads these two below
      case 9:
        value.skip();
        break;
      default:
        throw std::runtime_error("an unknown field of a value");
    }
  }
}

Event ReadEvent(const std::string& record) {
  Event event;
  protozero::pbf_reader reader(record);
  while (reader.next()) {
    switch (reader.tag()) {
      case 1:
        event.wall_time = reader.get_double();
        break;
      case 2:
        event.step = reader.get_int64();
        break;
      case 3:
        event.version = reader.get_string();
        break;
      case 5: {
        protozero::pbf_reader summary = reader.get_message();
        if (!summary.next(1)) throw std::runtime_error("a summary without a value");
        ReadValue(summary.get_message(), event);
        break;
      }
      default:
        throw std::runtime_error("an unknown field of an event");
    }
  }
  return event;
}

std::vector<Event> ReadEvents(const fs::path& path) {
  std::vector<Event> events;
  for (const std::string& record : ReadRecords(path)) events.push_back(ReadEvent(record));
  return events;
}

class EventFileTest : public ::testing::Test {
 protected:
  fs::path Path() const { return scratch_ / kName; }
  fs::path Aside(int number = 1) const { return scratch_ / (kAside + std::to_string(number)); }

  // A small file of a version and two values. Returns where each of its records ends.
  std::vector<std::int64_t> WriteTwoScalars() const {
    std::vector<std::int64_t> ends;
    EventFile file(Path(), 0);
    ends.push_back(file.offset());
    for (const int step : {1, 2}) {
      file.Scalar("loss", step, 0.5 * step);
      ends.push_back(file.offset());
    }
    file.Sync();
    return ends;
  }

  // Opening says `words`, moves `before` out of the way and goes on with a file of one value.
  void ExpectSetAside(const std::string& before, std::int64_t keep_bytes, const std::string& words) const {
    {
      EventFile file(Path(), keep_bytes);
      EXPECT_NE(file.trouble().find(words), std::string::npos) << file.trouble() << "\nwanted: " << words;
      EXPECT_NE(file.trouble().find(Path()), std::string::npos) << file.trouble();
      EXPECT_NE(file.trouble().find(Aside().filename()), std::string::npos) << file.trouble();
      file.Scalar("new", 7, 1);
    }
    EXPECT_EQ(ReadText(Aside()), before);
    const std::vector<Event> events = ReadEvents(Path());
    ASSERT_EQ(events.size(), 2u);
    EXPECT_EQ(events[1].tag, "new");
    fs::remove(Aside());
  }

  // Files that TensorBoard reads: all of such a name (backend/event_processing/io_wrapper.py).
  std::vector<std::string> Read() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(scratch_.path())) {
      const std::string name = entry.path().filename();
      if (name.find("tfevents") != std::string::npos) names.push_back(name);
    }
    return names;
  }

  const ScratchDirectory scratch_;
};

TEST_F(EventFileTest, BeginsWithTheVersionAndHoldsEachValueWithItsTagStepAndTime) {
  const fs::path path = scratch_ / "new" / "directories" / kName;
  const double before = Now();
  {
    EventFile file(path, 0);
    EXPECT_EQ(file.trouble(), "");
    EXPECT_EQ(file.log().path(), path);
    file.Scalar("zoom_gold/loss", 0, 0.25);
    file.Scalar("größe", std::int64_t{1} << 40, -3e-9);
    file.Sync();
    EXPECT_EQ(file.offset(), static_cast<std::int64_t>(fs::file_size(path)));
  }
  const std::vector<Event> events = ReadEvents(path);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].version, "brain.Event:2");
  EXPECT_EQ(events[1].tag, "zoom_gold/loss");
  EXPECT_EQ(events[1].step, 0);
  EXPECT_EQ(events[1].value, 0.25f);
  EXPECT_EQ(events[2].tag, "größe");
  EXPECT_EQ(events[2].step, std::int64_t{1} << 40);
  EXPECT_EQ(events[2].value, -3e-9f);
  for (const Event& event : events) {
    EXPECT_GE(event.wall_time, before);
    EXPECT_LE(event.wall_time, Now());
  }
}

TEST_F(EventFileTest, NoNumberAndInfinityAreWrittenAsTheyAre) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  {
    EventFile file(Path(), 0);
    for (const double value : {std::nan(""), kInfinity, -kInfinity}) file.Scalar("loss", 1, value);
  }
  const std::vector<Event> events = ReadEvents(Path());
  ASSERT_EQ(events.size(), 4u);
  EXPECT_TRUE(std::isnan(events[1].value));
  EXPECT_EQ(events[2].value, kInfinity);
  EXPECT_EQ(events[3].value, -kInfinity);
}

TEST_F(EventFileTest, APictureIsAPngWithItsSize) {
  const Picture picture = MadePicture(13, 7);
  EventFile(Path(), 0).Image("board", 5, picture);
  const std::vector<Event> events = ReadEvents(Path());
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[1].tag, "board");
  EXPECT_EQ(events[1].step, 5);
  EXPECT_EQ(events[1].width, 13);
  EXPECT_EQ(events[1].height, 7);
  EXPECT_EQ(events[1].colorspace, 3) << "RGB";
  EXPECT_EQ(DecodePng(events[1].png, "board").pixels, picture.pixels);
}

TEST_F(EventFileTest, APictureWithoutPixelsIsRefusedAndLeavesNoHalfRecord) {
  EventFile file(Path(), 0);
  EXPECT_THROW(file.Image("board", 1, Picture()), Error);
  file.Scalar("loss", 1, 0.5);
  EXPECT_EQ(ReadEvents(Path()).size(), 2u);
}

TEST_F(EventFileTest, IsCutBackToEachOfItsOffsets) {
  const std::vector<std::int64_t> ends = WriteTwoScalars();
  const std::string whole = ReadText(Path());
  for (const std::int64_t end : ends) {
    // What the cut takes away may be of any kind.
    for (const std::string& rest : {whole.substr(end), std::string("half a rec"), std::string()}) {
      WriteText(Path(), whole.substr(0, end) + rest);
      {
        EventFile file(Path(), end);
        EXPECT_EQ(file.trouble(), "");
        EXPECT_EQ(file.offset(), end);
        file.Scalar("again", 9, 4);
      }
      EXPECT_TRUE(ReadText(Path()).starts_with(whole.substr(0, end)));
      EXPECT_EQ(ReadEvents(Path()).back().tag, "again");
    }
  }
  EXPECT_EQ(EventFile(Path(), 0).trouble(), "") << "nothing is kept, so nothing can be damaged";
  EXPECT_EQ(ReadEvents(Path()).size(), 1u);
}

TEST_F(EventFileTest, EveryFlippedBitBeforeTheOffsetIsFoundAndNoneBehindIt) {
  const std::vector<std::int64_t> ends = WriteTwoScalars();
  const std::string whole = ReadText(Path());
  const std::int64_t begin = ends[0], end = ends[1];
  for (std::int64_t at = 0; at < ends[2]; ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      WriteText(Path(), damaged);
      if (at >= end) {
        EXPECT_EQ(EventFile(Path(), end).trouble(), "") << at;
      } else if (at >= begin) {
        const std::string where = "has at byte " + std::to_string(begin) + " a record ";
        const bool in_header = at < begin + 12;
        ExpectSetAside(damaged, end,
                       where + (in_header ? "whose length has a wrong checksum" : "with a wrong checksum"));
      } else {
        ExpectSetAside(damaged, end, "has at byte 0 a record ");
      }
    }
  }
}

TEST_F(EventFileTest, AFileThatEndsBeforeTheOffsetIsSetAside) {
  const std::int64_t end = WriteTwoScalars().back();
  const std::string whole = ReadText(Path());
  for (std::int64_t size = 0; size < end; ++size) {
    WriteText(Path(), whole.substr(0, size));
    ExpectSetAside(
        whole.substr(0, size), end,
        "has " + std::to_string(size) + " bytes, but the checkpoint was saved after " + std::to_string(end));
  }
}

TEST_F(EventFileTest, AnOffsetWithinARecordIsDamage) {
  const std::vector<std::int64_t> ends = WriteTwoScalars();
  const std::string whole = ReadText(Path());
  for (std::int64_t keep = ends[0] + 1; keep < ends[1]; ++keep) {
    WriteText(Path(), whole);
    const std::int64_t room = keep - ends[0] - 16;
    ExpectSetAside(whole, keep, room < 0 ? "that is cut off" : "where " + std::to_string(room) + " are left");
  }
}

TEST_F(EventFileTest, ALengthBeyondTheEndIsDamageHoweverRightItsChecksum) {
  const std::int64_t end = WriteTwoScalars().back();
  const std::string whole = ReadText(Path());
  for (const std::uint64_t length : {std::uint64_t{11}, std::uint64_t{1} << 62, ~std::uint64_t{0}}) {
    const std::string file = whole + HeaderFor(length) + std::string(10 + 4, 'x');
    WriteText(Path(), file);
    ExpectSetAside(file, end + 12 + 10 + 4, "of " + std::to_string(length) + " bytes, where 10 are left");
  }
}

TEST_F(EventFileTest, AMissingFileBeginsAnew) {
  {
    EventFile file(Path(), 100);
    EXPECT_NE(file.trouble().find("is missing"), std::string::npos) << file.trouble();
    file.Scalar("new", 7, 1);
  }
  EXPECT_EQ(ReadEvents(Path()).size(), 2u);
}

TEST_F(EventFileTest, WhatIsNoFileIsSetAsideEachUnderAFreeName) {
  fs::create_directory(Path());
  WriteText(Path() / "somebody's", "kept");
  EXPECT_NE(EventFile(Path(), 0).trouble().find("is no plain file"), std::string::npos);
  EXPECT_EQ(ReadText(Aside(1) / "somebody's"), "kept");

  fs::remove(Path());
  fs::create_symlink("nowhere", Path());
  EXPECT_NE(EventFile(Path(), 0).trouble().find("is no plain file"), std::string::npos);
  EXPECT_TRUE(fs::is_symlink(Aside(2)));

  fs::remove(Path());
  ASSERT_EQ(::mkfifo(Path().c_str(), 0600), 0);  // reading it would wait for ever
  EXPECT_NE(EventFile(Path(), 50).trouble().find("is no plain file"), std::string::npos);
  EXPECT_TRUE(fs::is_fifo(Aside(3)));

  fs::remove(Path());
  WriteText(Path(), "");
  EXPECT_NE(EventFile(Path(), 50).trouble().find("has 0 bytes"), std::string::npos);
  EXPECT_TRUE(fs::is_regular_file(Aside(4)));
  EXPECT_EQ(ReadEvents(Path()).size(), 1u);
  EXPECT_EQ(Read(), std::vector<std::string>{kName});
}

TEST_F(EventFileTest, APlaceThatCanHoldNoFileIsAnErrorWithItsPath) {
  WriteText(scratch_ / "file", "");
  try {
    const EventFile file(scratch_ / "file" / kName, 0);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(scratch_ / "file"), std::string::npos) << error.what();
  }
}

// RLIMIT_FSIZE stands in for a full disk.
TEST_F(EventFileTest, OnAFullDiskEventsWaitAndNoneIsLost) {
  EventFile file(Path(), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  const rlimit small{static_cast<rlim_t>(file.offset()) + 20, old_limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_NO_THROW(file.Scalar("loss", 1, 0.5));
  EXPECT_NO_THROW(file.Image("board", 1, MadePicture(4, 4)));
  EXPECT_THROW(file.Sync(), Error);
  EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &old_limit), 0);
  std::signal(SIGXFSZ, old_handler);
  file.Sync();
  EXPECT_EQ(ReadEvents(Path()).size(), 3u);
}

// Zeros in a sparse file, so that neither the test nor the disk holds the record.
TEST_F(EventFileTest, ALongRecordIsCheckedInLittleMemory) {
  constexpr std::int64_t kBytes = 64 << 20;
  std::uint32_t crc = 0xffffffff;
  for (std::int64_t i = 0; i < kBytes; ++i) {
    for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? crc >> 1 ^ 0x82f63b78 : crc >> 1;
  }
  WriteText(Path(), HeaderFor(kBytes));
  fs::resize_file(Path(), 12 + kBytes);
  std::ofstream(Path(), std::ios::binary | std::ios::app) << BytesOf(Masked(~crc));
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  EXPECT_EQ(EventFile(Path(), 12 + kBytes + 4).trouble(), "");
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 8 << 10) << "KiB";
}

// Nothing that a PNG could make shorter.
Picture Noise(std::int64_t width, std::int64_t height) {
  Picture picture(width, height);
  std::uint32_t state = 1;
  for (std::uint8_t& byte : picture.pixels)
    byte = static_cast<std::uint8_t>((state = state * 1664525 + 1013904223) >> 24);
  return picture;
}

TEST_F(EventFileTest, ItsPicturesAreFoundWhereverARecordIsCut) {
  const std::string small = EncodePng(MadePicture(3, 3)), large = EncodePng(Noise(900, 700));
  ASSERT_GT(large.size(), std::size_t{1} << 20) << "more than is read at once";
  std::int64_t first = 0;
  {
    EventFile file(Path(), 0);
    file.Layout({});
    file.Scalar("sheet/no", 1, 2, "no picture");
    file.Image("other", 1, MadePicture(3, 3));
    file.Image("sheet/a", 1, MadePicture(3, 3));
    file.Sync();
    first = file.offset();
    file.Image("sheet/b", std::int64_t{1} << 40, Noise(900, 700));
    file.Image("sheet/a", 7, MadePicture(3, 3));
    file.Sync();
  }
  const std::string whole = ReadText(Path());
  const std::vector<EventImage> images = FindEventImages(Path(), "sheet/");
  ASSERT_EQ(images.size(), 3u);
  const std::string expected[] = {small, large, small};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto at = static_cast<std::size_t>(images[i].at), bytes = static_cast<std::size_t>(images[i].bytes);
    EXPECT_EQ(whole.substr(at, bytes), expected[i]) << i;
  }
  EXPECT_EQ(images[1].tag, "sheet/b");
  EXPECT_EQ(images[1].step, std::int64_t{1} << 40);
  EXPECT_EQ(images[2].step, 7);
  for (const std::int64_t bytes : {first, first + 1, first + 12, first + 40, std::ssize(whole) - 1}) {
    WriteText(Path(), whole.substr(0, static_cast<std::size_t>(bytes)));
    EXPECT_EQ(FindEventImages(Path(), "sheet/").size(), bytes == std::ssize(whole) - 1 ? 2u : 1u) << bytes;
  }
  std::string damaged = whole;
  damaged[static_cast<std::size_t>(first) + 3] = '\x7f';  // a length that no file has
  WriteText(Path(), damaged);
  EXPECT_EQ(FindEventImages(Path(), "sheet/").size(), 1u);
  fs::remove(Path());
  EXPECT_TRUE(FindEventImages(Path(), "sheet/").empty());
}

// Both readers of the package: the one for programs, and the one behind its pages, which knows what each page
// shows.
constexpr const char* kReadWithTensorBoard = R"(
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.plugin_event_accumulator import EventAccumulator as Pages
events = EventAccumulator(sys.argv[1], size_guidance={'scalars': 0, 'images': 0}).Reload()
pages = Pages(sys.argv[1]).Reload()
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.util import tensor_util
tags = events.Tags()
layout = layout_pb2.Layout()
layout.ParseFromString(tensor_util.make_ndarray(pages.Tensors('custom_scalars__config__')[-1].tensor_proto).item())
print(json.dumps({
    'version': events.file_version,
    'help': {tag: pages.SummaryMetadata(tag).summary_description for tag in tags['scalars']},
    'layout': [[category.title, category.closed, [[chart.title, *chart.multiline.tag] for chart in category.chart]]
               for category in layout.category],
    'scalars': {tag: [[e.step, repr(e.value), e.wall_time] for e in events.Scalars(tag)] for tag in tags['scalars']},
    'images': {tag: [[e.step, e.width, e.height, e.encoded_image_string.hex(), e.wall_time]
                     for e in events.Images(tag)] for tag in tags['images']},
    'pages': {plugin: sorted(pages.PluginTagToContent(plugin)) for plugin in pages.ActivePlugins()},
}))
)";

std::string Hex(const std::string& bytes) {
  std::string hex;
  for (const char byte : bytes) {
    hex += "0123456789abcdef"[static_cast<unsigned char>(byte) >> 4];
    hex += "0123456789abcdef"[byte & 15];
  }
  return hex;
}

TEST_F(EventFileTest, TensorBoardReadsWhatWasWrittenAndNotWhatWasSetAside) {
  const fs::path python = MEDLEY_SOURCE_DIR "/.venv/bin/python";
  if (test::Shell(python.string() + " -c 'import tensorboard' 2>&1").code != 0)
    GTEST_SKIP() << "the Python package tensorboard is not in .venv: tools/setup --tests";
  const double before = Now();
  WriteTwoScalars();
  std::int64_t committed = 0;
  {
    EventFile file(Path(), 1);  // within a record: set aside
    EXPECT_NE(file.trouble(), "");
    file.Layout({{.title = "first", .charts = {{"losses, MiB", "loss/[^/]+$"}, {"größe", "b"}}},
                 {.title = "closed", .charts = {{"c", "d|e"}}, .is_closed = true}});
    file.Scalar("zoom_gold/loss", 1, 0.25, "in MiB");
    file.Scalar("zoom_gold/loss", 2, std::nan(""), "in MiB");
    file.Image("board", 2, MadePicture(13, 7));
    file.Sync();
    committed = file.offset();
    file.Scalar("zoom_gold/loss", 3, 8);
  }
  {
    EventFile file(Path(), committed);
    EXPECT_EQ(file.trouble(), "");
    file.Scalar("zoom_gold/loss", 3, std::numeric_limits<double>::infinity());
    file.Scalar("control/loss", std::int64_t{1} << 40, -2);
    file.Image("board", 4, MadePicture(2, 300));
  }
  WriteText(scratch_ / "read.py", kReadWithTensorBoard);
  const auto result = test::Shell(python.string() + " " + (scratch_ / "read.py").string() + " " +
                                  scratch_.path().string() + " 2>" + (scratch_ / "said").string());
  ASSERT_EQ(result.code, 0) << ReadText(scratch_ / "said");
  auto theirs = nlohmann::json::parse(result.out);
  for (const char* kind : {"scalars", "images"}) {
    for (auto& events : theirs.at(kind)) {
      for (auto& event : events) {
        EXPECT_GE(event.back(), before);
        EXPECT_LE(event.back(), Now());
        event.erase(event.size() - 1);
      }
    }
  }
  const nlohmann::json scalars = {{"zoom_gold/loss", {{1, "0.25"}, {2, "nan"}, {3, "inf"}}},
                                  {"control/loss", nlohmann::json::array({{std::int64_t{1} << 40, "-2.0"}})}};
  const nlohmann::json images = {
      {"board",
       {{2, 13, 7, Hex(EncodePng(MadePicture(13, 7)))}, {4, 2, 300, Hex(EncodePng(MadePicture(2, 300)))}}}};
  EXPECT_EQ(theirs.at("version"), 2);
  EXPECT_EQ(theirs.at("scalars"), scalars);
  EXPECT_EQ(theirs.at("images"), images);
  using nlohmann::json;
  EXPECT_EQ(theirs.at("pages"), json({{"scalars", {"control/loss", "zoom_gold/loss"}},
                                      {"images", json::array({"board"})},
                                      {"custom_scalars", json::array({"custom_scalars__config__"})}}));
  EXPECT_EQ(theirs.at("help"), json({{"zoom_gold/loss", "in MiB"}, {"control/loss", ""}}));
  EXPECT_EQ(
      theirs.at("layout").dump(),
      R"([["first",false,[["losses, MiB","loss/[^/]+$"],["größe","b"]]],["closed",true,[["c","d|e"]]]])");
}

}  // namespace
}  // namespace medley
