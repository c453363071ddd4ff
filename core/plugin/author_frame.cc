#include <medley/plugin/author_frame.h>

#include <c10/util/Exception.h>
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include <medley/base/files.h>
#include <medley/base/next_command.h>

namespace medley {
namespace {

// A call in a library, counted from the library's beginning.
struct CallPlace {
  std::string library;
  std::uintptr_t offset = 0;
};

// Of a line "frame #4: <unknown function> + 0x14f2b (0x7f33b6ac in /plugins/recall.so)".
std::optional<CallPlace> PlaceOf(const std::string& line, const std::string& plugin) {
  const std::size_t begin = line.rfind("(0x"), in = line.find(" in /", begin), end = line.rfind(')');
  if (begin == std::string::npos || in == std::string::npos || end == std::string::npos || end < in)
    return std::nullopt;
  CallPlace place{.library = line.substr(in + 4, end - in - 4)};
  if (!place.library.ends_with("/" + plugin + ".so")) return std::nullopt;
  const std::uintptr_t behind = std::stoull(line.substr(begin + 1, in - begin - 1), nullptr, 16);
  Dl_info found{};
  if (dladdr(reinterpret_cast<void*>(behind), &found) == 0) return std::nullopt;
  place.offset =
      behind - reinterpret_cast<std::uintptr_t>(found.dli_fbase) - 1;  // the call is in front of it
  return place;
}

std::string Hex(std::uintptr_t number) {
  std::ostringstream text;
  text << "0x" << std::hex << number;
  return text.str();
}

std::vector<CallPlace> PlacesIn(const std::string& backtrace, const std::string& plugin) {
  std::vector<CallPlace> places;
  std::istringstream lines(backtrace);
  for (std::string line; std::getline(lines, line);) {
    if (auto place = PlaceOf(line, plugin)) places.push_back(std::move(*place));
  }
  return places;
}

// Pairs of lines, function and "file:line", the innermost first; nothing where there is no such program.
std::string Addr2line(const std::vector<CallPlace>& places) {
  std::string command = "addr2line -Cfie " + ShellWord(places.front().library);
  for (const CallPlace& place : places) command += " " + Hex(place.offset);
  command += " 2>/dev/null";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> output(popen(command.c_str(), "r"), &pclose);
  std::string text;
  char piece[4096];
  for (std::size_t got = 0; output && (got = std::fread(piece, 1, sizeof piece, output.get())) > 0;)
    text.append(piece, got);
  return text;
}

// "(anonymous namespace)::Recall::Run[abi:cxx11](at::Tensor const&) const" -> "Recall::Run"
std::string ShortName(std::string function) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  for (std::size_t at; (at = function.find(kAnonymous)) != std::string::npos;)
    function.erase(at, kAnonymous.size());
  return function.substr(0, function.find_first_of("(["));
}

bool IsOfALibrary(std::string_view function, std::string_view file) {
  for (const char* space : {"at::", "c10::", "torch::", "std::", "medley::detail::"}) {
    if (function.starts_with(space)) return true;
  }
  return file.find("/ATen/") != std::string_view::npos || file.find("/c10/") != std::string_view::npos;
}

}  // namespace

std::string AuthorFrame(const c10::Error& error, const std::string& plugin) {
  if (error.backtrace() == nullptr) return "";
  const std::vector<CallPlace> places = PlacesIn(error.backtrace()->get(), plugin);
  if (places.empty()) return "";
  std::istringstream lines(Addr2line(places));
  std::string function, file;
  while (std::getline(lines, function) && std::getline(lines, file)) {
    if (function.starts_with("?") || IsOfALibrary(function, file)) continue;
    const bool has_line = !file.starts_with("?") && !file.ends_with("?");
    // "recall.cc:93 (discriminator 2)"
    const std::string line = has_line ? ", " + DisplayPath(file.substr(0, file.find(' '))) : "";
    return "\n  in " + ShortName(function) + line;
  }
  return "\n  in " + DisplayPath(places.front().library) + " at " + Hex(places.front().offset);
}

}  // namespace medley
