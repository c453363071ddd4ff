#include "abi_check.h"

#include <medley/base/version.h>
#include <medley/task/abi.h>

#include "rejection.h"

namespace medley {
namespace {

// "2.11.0+cu130" and "2.11.0+cpu" have one ABI, and plugins know their headers' version, which has no suffix.
std::string Release(std::string_view version) { return std::string(version.substr(0, version.find('+'))); }

std::string Text(const std::string& value) { return Printable(value); }
std::string Text(int value) { return std::to_string(value); }
std::string Text(bool value) { return value ? "on" : "off"; }

class Comparison {
 public:
  template <typename T>
  void Add(const std::string& what, const T& plugin, const T& host) {
    if (plugin == host) return;
    plugin_ += (plugin_.empty() ? "" : ", ") + what + Text(plugin);
    host_ += (host_.empty() ? "" : ", ") + what + Text(host);
  }
  std::string Sentence() const {
    if (plugin_.empty()) return "";
    return "was built for " + plugin_ + "; this medley uses " + host_ + kRebuild;
  }

  static constexpr const char* kRebuild =
      ". Rebuild the plugin with this medley: cmake --build BUILD_DIRECTORY --clean-first";

 private:
  std::string plugin_;
  std::string host_;
};

}  // namespace

AbiInfo HostAbi() {
  AbiInfo abi;
  abi.kind = "c++";
  abi.api = kPluginApi;
  abi.medley = MEDLEY_HEADERS_VERSION;
  abi.headers = MEDLEY_HEADERS_DIGEST;
  abi.torch = Release(Torch().version);
  abi.cxx11 = detail::kCxx11Abi;
  abi.standard_library = detail::kStandardLibrary;
  abi.pointer = sizeof(void*);
  abi.glibcxx_debug = detail::kDebugContainers;
  abi.sanitizer = detail::kSanitizer;
  abi.compiler = detail::kCompiler;
  return abi;
}

std::string AbiDifferences(const AbiInfo& plugin, const AbiInfo& host) {
  Comparison comparison;
  comparison.Add("plugin kind ", plugin.kind, host.kind);
  comparison.Add("plugin API ", plugin.api, host.api);
  if (plugin.api != host.api) return comparison.Sentence();
  comparison.Add("libtorch ", Release(plugin.torch), host.torch);
  comparison.Add("_GLIBCXX_USE_CXX11_ABI ", plugin.cxx11, host.cxx11);
  comparison.Add("the standard library ", plugin.standard_library, host.standard_library);
  comparison.Add("pointers of bytes ", plugin.pointer, host.pointer);
  comparison.Add("_GLIBCXX_DEBUG ", plugin.glibcxx_debug, host.glibcxx_debug);
  comparison.Add("sanitizer ", plugin.sanitizer, host.sanitizer);
  if (const std::string sentence = comparison.Sentence(); !sentence.empty()) return sentence;
  if (plugin.headers == host.headers) return "";
  return "was built against other headers: those of medley " + Text(plugin.medley) + " (" +
         Text(plugin.headers) + "), this one is " + host.medley + " (" + host.headers + ")" +
         Comparison::kRebuild;
}

}  // namespace medley
