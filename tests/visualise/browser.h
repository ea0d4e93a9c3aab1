// Opens pages in a real browser, headless, with a real mouse and keyboard.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace fovea::test {

/// What a page said while it was open.
struct Visit {
  nlohmann::json report;  // what the script returned; null if it threw
  std::string console;    // messages and uncaught errors, one a line; empty if all is well
};

/// True if Chromium is installed; else says that the test is skipped, or fails it if the
/// environment has FOVEA_TEST_BROWSER.
bool have_browser();

/// Opens a page, runs `script` in it when it is ready, and closes it. The script is the body of an
/// async function. Its helpers: `panel(k)`, the k-th network's part of the page; `tokens(k)`, its
/// words; `zoomWheel(element, x, y, deltaY)`, with Ctrl; `drag(element, [x, y], [x, y])`;
/// `hover(element, x, y)` and `click(element, x, y)`, x and y as shares of its size;
/// `leave()`, which moves the mouse to a corner; `press(key)`; `ready(sample)`; `button(text)`;
/// `strongest(k)`, the word with the strongest colour.
Visit visit(const std::string& page, const std::string& script, const std::string& hash = "");

}  // namespace fovea::test
