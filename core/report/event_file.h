#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <medley/base/append_file.h>
#include <medley/report/picture.h>

namespace medley {

// Charts that stand together on TensorBoard's page of custom scalars.
struct ChartCategory {
  struct Chart {
    std::string title;
    std::string tags;  // a regular expression; it is searched for from a tag's beginning
  };
  std::string title;
  std::vector<Chart> charts;
  bool is_closed = false;
};

// A file that TensorBoard reads: curves and pictures by tag and step, each with the wall time of its writing.
//
// It is for people alone, so a run goes on without it. A file that is not as the checkpoint left it is set
// aside, and a new one begins; a full disk is AppendFile's matter. An Error is left for a place where no file
// can be made at all.
class EventFile {
 public:
  // Opens or creates, with the directory; bytes beyond `keep_bytes`, once an offset(), are cut off. The file
  // is set aside where those that stay are no whole records with the right checksums. TensorBoard reads every
  // file that has "tfevents" in its name: `path` is to have it, a name set aside never has.
  EventFile(std::filesystem::path path, std::int64_t keep_bytes);

  // What was not as it was left and where it is now, for the console; "" where nothing was.
  const std::string& trouble() const { return trouble_; }
  bool is_new() const { return is_new_; }  // nothing of an earlier start is in it

  // TensorBoard holds 32 bits of the value; NaN and infinity are values too. Tags are UTF-8.
  // `help`: what a page says of the tag, such as its unit; it is written once.
  void Scalar(std::string_view tag, std::int64_t step, double value, std::string_view help = "");
  void Image(std::string_view tag, std::int64_t step, const Picture& picture);
  // Which charts the page of custom scalars has, in this order.
  void Layout(const std::vector<ChartCategory>& categories);

  // As AppendFile's.
  void Sync() { file_.Sync(); }
  std::int64_t offset() const { return file_.offset(); }
  const AppendFile& log() const { return file_; }

 private:
  void Append(std::string_view event);

  std::string trouble_;  // found before file_ is opened
  AppendFile file_;
  bool is_new_;
  std::set<std::string, std::less<>> described_;
};

}  // namespace medley
