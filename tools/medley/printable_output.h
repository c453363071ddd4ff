#pragma once

#include <iosfwd>
#include <streambuf>
#include <string>

namespace medley {

// While it lives, what is written to the stream goes through PrintableLines: whoever prints a stranger's
// words need not think of it. JSON stays the same JSON.
class PrintableOutput final : public std::streambuf {
 public:
  explicit PrintableOutput(std::ostream& stream);
  ~PrintableOutput() override;
  PrintableOutput(const PrintableOutput&) = delete;
  PrintableOutput& operator=(const PrintableOutput&) = delete;

 protected:
  std::streamsize xsputn(const char* text, std::streamsize size) override;
  int_type overflow(int_type next) override;
  int sync() override;

 private:
  bool Put(const std::string& text);

  std::ostream& stream_;
  std::streambuf* before_;
  std::string begun_;  // the bytes of a character whose others are yet to come
};

}  // namespace medley
