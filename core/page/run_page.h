#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace medley {

struct PageRequest {
  std::vector<std::filesystem::path> runs{};  // the first is the page's, the others are shown beside it
  int refresh_seconds = 0;                    // the page loads itself anew; 0: it does not
};

// One page of HTML with all that it needs in it. Throws what RunData throws.
std::string RunPage(const PageRequest& request);

}  // namespace medley
