//! What is to be loaded: an URL, and whether it may be.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::str::FromStr;

use http::Uri;

/// A server, and what is asked of it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Target {
    url: String,
    /// As it stands in the `Host` line.
    authority: String,
    host: String,
    port: u16,
    path: String,
}

/// Why an URL cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// It is none, or no complete one.
    #[error("{url:?} is not a complete URL: write it such as http://127.0.0.1:18470/")]
    Incomplete {
        /// As given.
        url: String,
    },
    /// It is not plain HTTP.
    #[error("{url} is not plain HTTP: only http:// can be loaded")]
    Scheme {
        /// As given.
        url: String,
    },
    /// Its host has no address.
    #[error("the host {host} is not known: {source}")]
    Unknown {
        /// Its host.
        host: String,
        /// Why.
        source: io::Error,
    },
    /// It is another machine.
    #[error(
        "{host} is not this machine ({ip} is no loopback address): load only what you may, and then add --allow-remote {host}"
    )]
    Remote {
        /// Its host.
        host: String,
        /// Its address.
        ip: IpAddr,
    },
}

impl FromStr for Target {
    type Err = TargetError;

    fn from_str(url: &str) -> Result<Self, TargetError> {
        let incomplete = || TargetError::Incomplete { url: url.into() };
        let uri: Uri = url.parse().map_err(|_| incomplete())?;
        let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return Err(incomplete());
        };
        if scheme != "http" {
            return Err(TargetError::Scheme { url: url.into() });
        }
        // A port that is no number, and a user's name, are left in the authority without a word.
        let port = match authority.as_str().strip_prefix(authority.host()) {
            Some("") => 80,
            Some(_) => authority.port_u16().ok_or_else(incomplete)?,
            None => return Err(incomplete()),
        };
        Ok(Self {
            url: url.into(),
            authority: authority.to_string(),
            host: authority.host().into(),
            port,
            path: uri
                .path_and_query()
                .map_or("/", |path| path.as_str())
                .into(),
        })
    }
}

impl Target {
    /// As it was given.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Host, and port where one is given: the value of `Host`.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Path and query.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Its addresses, if they may be loaded: those of this machine, and any of the host that `allow_remote` names.
    ///
    /// # Errors
    ///
    /// [`TargetError`].
    pub fn addresses(&self, allow_remote: Option<&str>) -> Result<Vec<SocketAddr>, TargetError> {
        let bare = self.host.trim_start_matches('[').trim_end_matches(']');
        let unknown = |source| TargetError::Unknown {
            host: self.host.clone(),
            source,
        };
        let addresses: Vec<_> = (bare, self.port)
            .to_socket_addrs()
            .map_err(unknown)?
            .collect();
        if addresses.is_empty() {
            return Err(unknown(io::ErrorKind::NotFound.into()));
        }
        if allow_remote.is_some_and(|host| host == bare || host == self.host) {
            return Ok(addresses);
        }
        match addresses
            .iter()
            .find(|addr| !addr.ip().to_canonical().is_loopback())
        {
            Some(remote) => Err(TargetError::Remote {
                host: self.host.clone(),
                ip: remote.ip(),
            }),
            None => Ok(addresses),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_an_url() {
        let target: Target = "http://localhost:8080/a?b=c".parse().unwrap();
        assert_eq!(target.authority(), "localhost:8080");
        assert_eq!(target.path(), "/a?b=c");
        assert_eq!(target.port, 8080);
        let target: Target = "http://[::1]".parse().unwrap();
        assert_eq!((target.path(), target.port), ("/", 80));
        assert_eq!(
            target.addresses(None).unwrap(),
            ["[::1]:80".parse().unwrap()]
        );
    }

    #[test]
    fn what_is_no_url_says_how_one_looks() {
        for wrong in [
            "",
            "localhost",
            "127.0.0.1:80",
            "/path",
            "http://",
            "http://a b/",
            "http://127.0.0.1:x/",
            "http://127.0.0.1:99999/",
            "http://me@127.0.0.1/",
        ] {
            let problem = wrong.parse::<Target>().unwrap_err().to_string();
            assert!(
                problem.contains("http://127.0.0.1:18470/"),
                "{wrong}: {problem}"
            );
        }
        let problem = "https://127.0.0.1/".parse::<Target>().unwrap_err();
        assert!(problem.to_string().contains("only http://"), "{problem}");
    }

    #[test]
    fn only_this_machine_is_loaded_unless_another_is_named() {
        let addresses = |url: &str, allowed| {
            let target: Target = url.parse().unwrap();
            target.addresses(allowed).map_err(|error| error.to_string())
        };
        for own in [
            "http://127.0.0.1/",
            "http://127.9.9.9/",
            "http://[::ffff:127.0.0.1]/",
        ] {
            assert!(addresses(own, None).is_ok(), "{own}");
        }
        // Addresses for documentation (RFC 5737, RFC 3849).
        for (host, url) in [
            ("192.0.2.1", "http://192.0.2.1/"),
            ("[2001:db8::1]", "http://[2001:db8::1]/"),
        ] {
            let problem = addresses(url, None).unwrap_err();
            assert!(
                problem.ends_with(&format!("--allow-remote {host}")),
                "{problem}"
            );
            assert!(addresses(url, Some(host)).is_ok());
            assert!(addresses(url, Some("192.0.2.2")).is_err());
        }
    }
}
