// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/store/backends/tls_session.h.

#ifndef SKALD_STORE_BACKENDS_DETAIL_TLS_SESSION_H_
#define SKALD_STORE_BACKENDS_DETAIL_TLS_SESSION_H_

#include "skald/store/backends/tls_session.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include <algorithm>
#include <array>
#include <climits>
#include <system_error>

#include "skald/base/inline.h"
#include "skald/base/sockets/socket.h"

namespace skald {

namespace internal {

SKALD_INLINE void TlsSession::Free::operator()(ssl_ctx_st* context) const { SSL_CTX_free(context); }
SKALD_INLINE void TlsSession::Free::operator()(ssl_st* ssl) const { SSL_free(ssl); }

SKALD_INLINE Result<TlsSession> TlsSession::Create(const TlsOptions& options, const std::string& host) {
  TlsSession session;
  session.context_.reset(SSL_CTX_new(TLS_client_method()));
  if (session.context_ == nullptr) return OutOfMemory();
  SSL_CTX* const context = session.context_.get();
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  SKALD_TRY(Trust(context, options));
  SKALD_TRY(UseOwn(context, options));
  session.ssl_.reset(SSL_new(context));
  BIO* const in = BIO_new(BIO_s_mem());
  BIO* const out = BIO_new(BIO_s_mem());
  if (session.ssl_ == nullptr || in == nullptr || out == nullptr) {
    BIO_free(in);
    BIO_free(out);
    return OutOfMemory();
  }
  SSL_set_bio(session.ssl_.get(), in, out);
  SSL_set_connect_state(session.ssl_.get());
  if (!session.ExpectHost(host)) return OutOfMemory();
  return session;
}

SKALD_INLINE Result<void> TlsSession::Begin(TimedSocket& socket) {
  ERR_clear_error();
  for (;;) {
    const int done = SSL_do_handshake(ssl_.get());
    const int state = SSL_get_error(ssl_.get(), done);
    const std::string why = done == 1 || state == SSL_ERROR_WANT_READ ? "" : WhyNot();
    // Pending bytes are sent even if the certificate was rejected, so that the server gets the alert.
    const Outcome sent = Flush(socket);
    if (!why.empty()) return Fail(ErrorCode::kFailedPrecondition, "TLS: " + why);
    if (sent == Outcome::kDone && done == 1) return {};
    if (sent != Outcome::kDone || Fill(socket) != Outcome::kDone) {
      return Fail(ErrorCode::kFailedPrecondition, "TLS: the server does not answer, or closed the connection");
    }
  }
}

SKALD_INLINE TlsSession::Outcome TlsSession::Send(TimedSocket& socket, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    ERR_clear_error();
    const int part = static_cast<int>(std::min<size_t>(bytes.size(), kMostAtOnce));
    const int written = SSL_write(ssl_.get(), bytes.data(), part);
    if (written > 0) {
      bytes = bytes.subspan(static_cast<size_t>(written));
      if (const Outcome sent = Flush(socket); sent != Outcome::kDone) return sent;
      continue;
    }
    if (SSL_get_error(ssl_.get(), written) != SSL_ERROR_WANT_READ) return Broken(socket);
    if (const Outcome got = Fill(socket); got != Outcome::kDone) return got;
  }
  return Outcome::kDone;
}

SKALD_INLINE TlsSession::Outcome TlsSession::Receive(TimedSocket& socket, std::span<std::byte>& bytes) {
  for (;;) {
    ERR_clear_error();
    const int read = SSL_read(ssl_.get(), bytes.data(), static_cast<int>(std::min<size_t>(bytes.size(), INT_MAX)));
    if (read > 0) {
      bytes = bytes.first(static_cast<size_t>(read));
      return Outcome::kDone;
    }
    const int state = SSL_get_error(ssl_.get(), read);
    if (state == SSL_ERROR_ZERO_RETURN) return Outcome::kClosed;
    if (state != SSL_ERROR_WANT_READ) return Broken(socket);
    if (const Outcome sent = Flush(socket); sent != Outcome::kDone) return sent;
    if (const Outcome got = Fill(socket); got != Outcome::kDone) return got;
  }
}

SKALD_INLINE bool TlsSession::IsQuiet(TimedSocket& socket) {
  std::array<std::byte, kRecord> room;
  std::span<std::byte> bytes(room);
  if (socket.IsQuiet()) {
    bytes = {};
  } else if (socket.Receive(bytes) != Outcome::kDone || !Feed(bytes)) {
    return false;
  }
  char first;
  ERR_clear_error();
  const int seen = SSL_peek(ssl_.get(), &first, 1);
  return seen <= 0 && SSL_get_error(ssl_.get(), seen) == SSL_ERROR_WANT_READ;
}

SKALD_INLINE Result<void> TlsSession::Trust(SSL_CTX* context, const TlsOptions& options) {
  const std::string file = options.ca_file.string();
  const bool is_done = file.empty() ? SSL_CTX_set_default_verify_paths(context) == 1
                                    : SSL_CTX_load_verify_locations(context, file.c_str(), nullptr) == 1;
  if (is_done) return {};
  return Fail(ErrorCode::kInvalidArgument,
              file.empty() ? "TLS: the system's certificates cannot be read" : file + ": expected certificates as PEM");
}

SKALD_INLINE Result<void> TlsSession::UseOwn(SSL_CTX* context, const TlsOptions& options) {
  if (options.certificate.empty()) return {};
  const std::string chain = options.certificate.string(), key = options.private_key.string();
  if (SSL_CTX_use_certificate_chain_file(context, chain.c_str()) != 1) {
    return Fail(ErrorCode::kInvalidArgument, chain + ": expected a certificate chain as PEM");
  }
  if (SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context) != 1) {
    return Fail(ErrorCode::kInvalidArgument, key + ": expected the private key of " + chain + ", as PEM");
  }
  return {};
}

SKALD_INLINE bool TlsSession::ExpectHost(const std::string& host) {
  if (Socket::IsAddress(host)) return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_.get()), host.c_str()) == 1;
  return SSL_set1_host(ssl_.get(), host.c_str()) == 1 && SSL_set_tlsext_host_name(ssl_.get(), host.c_str()) == 1;
}

SKALD_INLINE TlsSession::Outcome TlsSession::Flush(TimedSocket& socket) {
  BIO* const out = SSL_get_wbio(ssl_.get());
  char* data = nullptr;
  const long size = BIO_get_mem_data(out, &data);
  if (size <= 0) return Outcome::kDone;
  const Outcome sent = socket.Send(std::as_bytes(std::span(data, static_cast<size_t>(size))));
  (void)BIO_reset(out);
  return sent;
}

SKALD_INLINE TlsSession::Outcome TlsSession::Fill(TimedSocket& socket) {
  std::array<std::byte, kRecord> room;
  std::span<std::byte> bytes(room);
  const Outcome got = socket.Receive(bytes);
  if (got == Outcome::kDone && !Feed(bytes)) return Broken(socket);
  return got;
}

SKALD_INLINE bool TlsSession::Feed(std::span<const std::byte> bytes) {
  return BIO_write(SSL_get_rbio(ssl_.get()), bytes.data(), static_cast<int>(bytes.size())) ==
         static_cast<int>(bytes.size());
}

SKALD_INLINE TlsSession::Outcome TlsSession::Broken(TimedSocket& socket) {
  return socket.Break(std::make_error_code(std::errc::protocol_error));
}

SKALD_INLINE std::string TlsSession::WhyNot() const {
  if (const long verified = SSL_get_verify_result(ssl_.get()); verified != X509_V_OK) {
    return std::string("the server's certificate is not accepted: ") + X509_verify_cert_error_string(verified);
  }
  const char* const reason = ERR_reason_error_string(ERR_peek_last_error());
  return reason == nullptr ? "the server does not speak TLS" : reason;
}

}  // namespace internal
}  // namespace skald

#endif  // SKALD_STORE_BACKENDS_DETAIL_TLS_SESSION_H_
