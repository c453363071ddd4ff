#pragma once

#include <string_view>

namespace medley {

// Makes a crash (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT) first write to stderr whose code ran and what to
// do, and then end the process as it would have without. A SIGBUS in a mapped file, which got shorter, names
// the file instead, and ends with exit code 1. A signal that somebody else handles already is left to them.
void InstallCrashWords();

// What this thread does while the scope lives: "plugin 'zoom' (task zoom_gold, while sampling rows 0..8)".
// Keeps the view. Scopes may nest, the innermost counts.
class CrashScope {
 public:
  explicit CrashScope(std::string_view doing) noexcept;
  ~CrashScope();
  CrashScope(const CrashScope&) = delete;
  CrashScope& operator=(const CrashScope&) = delete;

 private:
  std::string_view outer_;
};

// A sentence for the end of these words, as how to go on; shortened where it is long. "" takes it back.
void SetCrashAdvice(std::string_view advice) noexcept;

}  // namespace medley
