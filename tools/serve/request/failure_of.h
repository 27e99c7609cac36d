// What goes wrong while a request is read or answered, in words for its client.
#pragma once

#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <promptcache/promptcache.hpp>

#include "tools/serve/request/api_error.h"

namespace pc::serve {

// Thrown where the client has left: nothing more is to be said.
struct Unwanted {};

// The exception of the work as an error for the client; nothing where the client has left.
template <class Work>
std::optional<ApiError> failure_of(Work work) try {
  work();
  return std::nullopt;
} catch (const Unwanted&) {
  return std::nullopt;
} catch (const ApiError& error) {
  return error;
} catch (const promptcache::Error& error) {
  if (error.status() == PC_CANCELLED) return std::nullopt;
  return ApiError::of(error);
} catch (const std::bad_alloc&) {
  return ApiError(503, "server_error", "the server is out of memory", "", "out_of_memory");
} catch (const std::exception& error) {
  return ApiError(500, "server_error", error.what());
}

// Does the work, and answers with what it throws.
template <class F>
void guard(Protocol protocol, const std::shared_ptr<Reply>& reply, F work) {
  if (const auto failure = failure_of(work)) reply->send(to_response(*failure, protocol));
}

}  // namespace pc::serve
