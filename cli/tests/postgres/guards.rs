//! Guards of a registry on a server.

use crate::running::guards::{Archive, on};
use crate::scene::Scene;

on!(Scene::new().map(|scene| Archive::new(scene.url, scene.server)));
