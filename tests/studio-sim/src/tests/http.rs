//! Tests of requests over real sockets, and of their failures.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use super::{check_with_fails, ran};
use crate::{Answer, Options, Permission, Studio};

/// A server that answers each request with its own text, `/slow` with a delay, `/missing` with 404.
fn server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || {
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let (mut head, mut length) = (String::new(), 0);
                loop {
                    let mut line = String::new();
                    reader.read_line(&mut line).unwrap();
                    if line.trim().is_empty() {
                        break;
                    }
                    let lower = line.to_ascii_lowercase();
                    if let Some(it) = lower.strip_prefix("content-length:") {
                        length = it.trim().parse().unwrap();
                    }
                    head += &line;
                }
                let mut body = vec![0; length];
                reader.read_exact(&mut body).unwrap();
                if head.contains("/slow") {
                    thread::sleep(Duration::from_millis(1500));
                }
                let status = if head.contains("/missing") { "404 Not Found" } else { "200 OK" };
                let text = format!("{head}\n{}", String::from_utf8_lossy(&body));
                let answer = format!(
                    "HTTP/1.1 {status}\r\nX-Seen: yes\r\nContent-Length: {}\r\n\r\n{text}",
                    text.len()
                );
                let mut stream = stream;
                stream.write_all(answer.as_bytes()).unwrap();
            });
        }
    });
    address
}

fn studio(options: Options<'_>) -> (Studio, String) {
    let address = server();
    let luau = format!("_G.url = '{address}' _G.H = game:GetService('HttpService')");
    (ran(options, &luau), address)
}

#[test]
fn requests_are_answered() {
    let (studio, address) = studio(Options::default());
    let luau = "local r = _G.H:RequestAsync({Url = _G.url .. '/a?b=1', Method = 'POST', Body = 'hello',
            Headers = {['Content-Type'] = 'application/json', Authorization = 'Bearer x'}})
        assert(r.Success and r.StatusCode == 200 and r.StatusMessage == 'OK' and r.Headers['x-seen'] == 'yes')
        assert(r.Body:find('POST /a?b=1', 1, true) and r.Body:find('Authorization: Bearer x', 1, true) and r.Body:find('hello'))
        assert(r.Body:find('Host: 127.0.0.1', 1, true))
        local r = _G.H:RequestAsync({Url = _G.url .. '/missing'})
        assert(not r.Success and r.StatusCode == 404)
        assert(not pcall(function() _G.H:GetAsync(_G.url .. '/missing') end))
        assert(_G.H:PostAsync(_G.url, 'x'):find('application/json'))
        return 'ok'";
    assert_eq!(studio.eval_as_plugin(luau).unwrap(), "ok");
    let log = studio.http_log();
    assert_eq!((log[0].method.as_str(), log[0].length, log[0].status), ("POST", 5, 200));
    assert_eq!(log[0].url, format!("{address}/a?b=1"));
    assert_eq!((log.len(), studio.in_flight(), studio.most_in_flight()), (4, 0, 1));
}

#[test]
fn invalid_requests_fail_with_studio_errors() {
    check_with_fails(
        "local H = game:GetService('HttpService')
        local function ask(options) return function() return H:RequestAsync(options) end end
        local url = 'http://127.0.0.1:1/'
        fails('Header \"Host\" is not allowed', ask({Url = url, Headers = {Host = 'x'}}))
        fails('Header \"content-length\" is not allowed', ask({Url = url, Headers = {['content-length'] = '1'}}))
        fails('cannot have a body', ask({Url = url, Body = 'x'}))
        fails('is not a valid HTTP method', ask({Url = url, Method = 'FETCH'}))
        fails('HttpError: InvalidUrl', ask({Url = 'ftp://x'}))
        fails('HttpError: ConnectFail', ask({Url = url}))
        fails('Headers must be a dictionary of strings', ask({Url = url, Headers = {a = 1}}))",
    );
}

#[test]
fn json_has_studios_quirks() {
    check_with_fails(
        "local H = game:GetService('HttpService')
        assert(H:JSONEncode({}) == '[]' and H:JSONEncode({a = {1, 2.5, true}}) == '{\"a\":[1,2.5,true]}')
        assert(H:JSONEncode({math.huge, -math.huge, 0 / 0}) == '[inf,-inf,nan]')
        assert(H:JSONEncode('a\"\\\\\\n') == '\"a\\\\\"\\\\\\\\\\\\n\"')
        local t = H:JSONDecode('{\"a\":null,\"b\":[1,null,3],\"c\":{}}')
        assert(t.a == nil and t.b[1] == 1 and t.b[2] == nil and t.b[3] == 3 and next(t.c) == nil)
        fails('parse JSON', function() H:JSONDecode('{') end)
        local round = {} round[1] = round
        fails('cyclic', function() H:JSONEncode(round) end)
        fails('JSON', function() H:JSONEncode({Vector3.one}) end)
        assert(H:UrlEncode('a b/c') == 'a%20b%2Fc')
        assert(#H:GenerateGUID(false) == 36 and H:GenerateGUID():sub(1, 1) == '{' and H:GenerateGUID() ~= H:GenerateGUID())
        local E = game:GetService('EncodingService')
        local digest = E:ComputeStringHash('', Enum.HashAlgorithm.Sha256)
        assert(#digest == 32 and string.byte(digest) == 0xe3)
        assert(buffer.tostring(E:Base64Encode(buffer.fromstring('hi'))) == 'aGk=')
        assert(buffer.tostring(E:Base64Decode(buffer.fromstring('aGk='))) == 'hi')",
    );
}

#[test]
fn requests_can_be_denied_and_are_rate_limited() {
    let (studio, _) = studio(Options { http: Permission::Denied, ..Options::default() });
    let ask = "return _G.H:GetAsync(_G.url)";
    assert!(studio.eval_as_plugin(ask).unwrap_err().contains("denied permission"));
    studio.set_http(Permission::Allowed);
    studio.eval_as_plugin(ask).unwrap();
    let many = "local failures = 0
        for i = 1, 520 do
            task.spawn(function()
                local ok, message = pcall(_G.H.GetAsync, _G.H, 'http://127.0.0.1:1/')
                if message:find('exceeded limit') then failures += 1 end
            end)
        end
        task.wait(2)
        return failures";
    assert_eq!(studio.eval_as_plugin(many).unwrap(), 21);
    assert_eq!(studio.requests_last_minute(), 500);
}

#[test]
fn clock_does_not_run_ahead_of_a_slow_request() {
    let (studio, _) = studio(Options::default());
    let luau = "local done = false
        task.delay(10, function() done = true end)
        local start = os.clock()
        _G.H:GetAsync(_G.url .. '/slow')
        return {done, os.clock() - start < 3}";
    let start = Instant::now();
    assert_eq!(studio.eval_as_plugin(luau).unwrap(), serde_json::json!([false, true]));
    assert!(start.elapsed() < Duration::from_secs(9));
}

#[test]
fn requests_can_be_lost_duplicated_or_refused() {
    let (studio, _) = studio(Options::default());
    let ask = |path: &str| {
        studio.eval_as_plugin(&format!("return #_G.H:GetAsync(_G.url .. '{path}') > 0"))
    };
    studio.on_request("/one", 1, Answer::Lose);
    assert_eq!(ask("/one").unwrap(), true);
    assert!(ask("/one").unwrap_err().contains("HttpError: Timedout"));
    assert_eq!(ask("/one").unwrap(), true);
    studio.on_request("/two", 0, Answer::Refuse);
    assert!(ask("/two").unwrap_err().contains("ConnectFail"));
    studio.on_request("/two", 0, Answer::Double);
    assert_eq!(ask("/two").unwrap(), true);
    studio.on_request("/kill", 0, Answer::Kill);
    assert!(ask("/kill").is_err());
    assert!(!studio.http_log().iter().any(|sent| sent.url.contains("/kill")));
}

#[test]
fn remote_addresses_are_never_reached() {
    let (studio, _) = studio(Options::default());
    let error = studio.eval_as_plugin("return _G.H:GetAsync('http://192.0.2.1/')").unwrap_err();
    assert!(error.contains("only this machine"), "{error}");
}
