-- One request kind a run (BENCH_KIND). Each thread of `refresh` has one connection and follows one chain: what an answer
-- gives is what the next request presents.
local kind = os.getenv("BENCH_KIND")
local token = os.getenv("BENCH_TOKEN")
local json = { ["Content-Type"] = "application/json" }
local threads = 0
local chain

-- Each thread starts with a chain of its own.
function setup(thread)
  threads = threads + 1
  thread:set("number", threads)
end

function init()
  if kind == "refresh" then
    local line = 0
    for text in io.lines(os.getenv("BENCH_CHAINS")) do
      line = line + 1
      if line == number then chain = text end
    end
  end
end

function request()
  if kind == "me" then
    return wrk.format("GET", "/api/me", { ["Authorization"] = "Bearer " .. token })
  elseif kind == "exchange" then
    return wrk.format("POST", "/api/auth/exchange", json, '{"access_token":"' .. token .. '"}')
  end
  return wrk.format("POST", "/api/auth/refresh", json, '{"refresh_token":"' .. chain .. '"}')
end

if kind == "refresh" then
  function response(_, _, body)
    chain = body:match('"refresh_token":"([^"]+)"') or chain
  end
end
